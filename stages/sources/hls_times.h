// What the playlists of HLS say of their pieces: when they were made (EXT-X-PROGRAM-DATE-TIME; RFC 8216, 4.3.2.6),
// which FFmpeg 5.1 does not read, and whether the server has begun anew.
//
// A piece's time is that of its first frame. What libavformat hands out of a piece comes once that was opened, and
// maybe the next ones, too: frames are told apart by their timestamps.
//
// Of one connection; of its thread alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/ffmpeg.h"

namespace campipe {

class HlsTimes {
 public:
  // A playlist that was read at `url`, of whatever kind. False: all its pieces have lower numbers
  // (EXT-X-MEDIA-SEQUENCE) than those that it had, so that libavformat would wait until they have come to where they
  // were.
  bool read(std::string_view playlist, const std::string& url);
  // That is opened now, or something else.
  void open_piece(const std::string& url);
  // For each packet of the video, in order. When its frame was made; nothing: nobody says.
  std::optional<std::chrono::microseconds> time_of(const AVPacket& packet, AVRational time_base);

 private:
  using Time = std::chrono::microseconds;
  struct Playlist {
    std::int64_t first = 0;             // number of a piece
    std::map<std::string, Time> times;  // of pieces, by their names
  };
  struct Anchor {
    Time utc;  // of the timestamp
    Time at;
  };
  void note_sound(std::string_view rendition);
  void look_for_piece(Time at);

  std::map<std::string, Playlist> playlists_;  // by their URLs
  std::set<std::string> of_sound_;             // names of playlists
  std::deque<Time> opened_;                    // pieces of which no frame has been found; their times
  std::optional<Time> newest_opened_;
  std::optional<Anchor> anchor_;
  std::optional<Time> newest_;  // timestamp
  Time nearest_ = Time::max();  // how far the frame that is nearest to the next piece's time is from it
  int missed_ = 0;              // pieces in a row that no frame was near to
};

// "2026-03-01T12:00:00.250+01:00", since 1970. Nothing: it is none, or has no zone.
std::optional<std::chrono::microseconds> read_date_time(std::string_view text);

}  // namespace campipe
