// What a source by HTTP is made of: libavformat opens the source itself, and HLS its pieces and keys one by one. Each
// URL is checked where the source may not lead elsewhere, and what it begins with before libavformat sees it: playlists
// (playlist_guard.h), a multipart stream that lacks its first boundary, FLV with a codec that libavformat takes for
// none, a single picture.
//
// What libavformat alone would fail at is asked for again in another way: without a range of bytes, which it always
// asks for and some servers refuse; with an answer to Digest that it does not know (login_challenge.h).
//
// Used by one thread, in functions that libavformat calls.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/ffmpeg.h"
#include "core/libav_options.h"
#include "stages/sources/hls_times.h"
#include "stages/sources/init_segment.h"
#include "stages/sources/login_challenge.h"
#include "stages/sources/multipart.h"
#include "stages/sources/playlist_guard.h"
#include "stages/sources/source.h"

namespace campipe {

struct SourceConfig;

class HttpPieces {
 public:
  using OpenIo = int (*)(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**);
  enum class For : std::uint8_t { streams, pictures };

  // `shown`: the source, for people. Both outlive it.
  HttpPieces(const SourceConfig& config, const std::string& shown, For what = For::streams);

  // Another connection.
  void restart();
  // As AVFormatContext::io_open, by `open_nested`, which is libavformat's own. Throws SourceError: what is there is not
  // taken; and SinglePicture, of the source itself, for streams. What a multipart stream is read from belongs to this,
  // until restart(): `context` is told.
  int open(AVFormatContext& context, AVIOContext** io, const std::string& url, int flags, const AVDictionary* given,
           OpenIo open_nested);
  // The next packet of the video, or of the sound, which is of `codec`. Pieces of HLS may have another header (init
  // segment) than those before, which libavformat leaves out: the packet gets it, and its times are put in the unit of
  // the first one. Throws SourceError where it is of another codec.
  void tell_new_header(AVPacket& packet, const AVCodecParameters& codec);
  // When the frame of the next packet of the video was made; nothing: nobody says.
  std::optional<std::chrono::microseconds> time_of(const AVPacket& packet, AVRational time_base) {
    return times_.time_of(packet, time_base);
  }
  // The URL that the source leads to, and may not; empty: none.
  [[nodiscard]] const std::string& elsewhere() const { return elsewhere_; }

  // For messages. The logins that the newest answer offered; none: it did not refuse for want of one.
  [[nodiscard]] const std::vector<LoginChallenge>& challenges() const { return challenges_; }
  // What the server calls what it sends; empty: it does not say.
  [[nodiscard]] const std::string& type() const { return type_; }

 private:
  int open_in_any_way(AVFormatContext& context, AVIOContext** io, const std::string& prefix, const std::string& url,
                      int flags, const AVDictionary* given, OpenIo open_nested, std::string& redirect);
  void add_login(LibavOptions& options, const std::string& url);
  bool has_new_answer(const std::string& url);
  int admit(AVIOContext*& io, const std::string& url, bool is_piece);
  void follow_playlist(const std::string& url);
  void look_at_beginning(AVIOContext*& io);

  const SourceConfig& config_;
  const std::string& shown_;
  const For what_;
  const std::optional<Login> login_;
  PlaylistGuard playlists_;
  HlsTimes times_;
  bool pieces_limited_ = false;  // of this connection
  bool begun_ = false;           // the source itself is open
  bool without_range_ = false;   // its server refuses one
  struct Header {
    std::optional<TrackHeader> newest{};
    bool is_new = false;  // the next packet is to get it
    int first_ticks = 0;  // of the first one
    void take(std::optional<TrackHeader> header);
  };
  Header video_header_;
  Header audio_header_;
  std::string elsewhere_;
  std::vector<LoginChallenge> challenges_;
  std::optional<LoginChallenge> answered_here_;
  unsigned answers_ = 0;  // to that
  std::string type_;
  std::optional<MultipartInput> parts_;
};

}  // namespace campipe
