// What an MPEG transport stream has of video, each access unit as soon as it is complete.
//
// libavformat hands out a PES packet when the next one begins, and its parser an access unit when it has seen the
// beginning of the next one: a frame late, or two. So the bytes of the stream go through here, packet by packet, and
// where a PES packet of the video ends, a packet is put in that begins an empty one. The parser is left out for the
// video alone.
//
// Where the programme map moves the video to another stream, the last PES packet of the one before has no next one: it
// ends there. What libavformat's parser would keep of it for ever is made here.
//
// That a PES packet ends there, and is one access unit, is believed once libavformat's own parser has found it so
// several times in a row. It is checked for each of them, and where it does not hold any longer, the parser gets what
// has come of them again, and has to find more of them right than before. So it is with all that this does not know:
// then it is as it would be without this.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/avio_owner.h"
#include "core/ffmpeg.h"
#include "stages/sources/media_streams.h"
#include "stages/sources/pes_tracker.h"
#include "stages/sources/ts_framing.h"
#include "stages/sources/unit_check.h"
#include "stages/sources/unit_parser.h"

namespace campipe {

// Of one connection; of its thread alone.
class TsUnits {
 public:
  // Whether `input`, which has been analyzed, is a transport stream, in packets of 188 bytes.
  static bool reads(const AVFormatContext& input);

  // From here on `input` is read through this, which must not be destroyed before it is closed, and closes what it was
  // read from. `streams` are its own, and outlive this. Throws std::bad_alloc.
  TsUnits(AVFormatContext& input, const MediaStreams& streams);
  ~TsUnits();
  TsUnits(const TsUnits&) = delete;
  TsUnits& operator=(const TsUnits&) = delete;

  // As av_read_frame() of that input.
  int read(AVPacket& packet);
  // The programme map says that the video's stream is of another codec now. libavformat does not follow that.
  [[nodiscard]] bool is_of_another_codec() const { return changed_; }

 private:
  enum class Use : std::uint8_t { take, drop };

  static int hand_to_libav(void* self, std::uint8_t* to, int size);
  int hand_out(std::span<std::uint8_t, ts_packet_size> to);
  int receive();
  std::optional<TsPacket> next_packet();
  bool follow(TsPacket packet);
  bool follow_map(TsPacket packet, const TsHead& head);
  [[nodiscard]] bool is_left_over(const AVPacket& packet) const;
  bool take_last(AVPacket& packet);
  void follow_video();
  Use compare(const AVPacket& unit);
  Use check(AVPacket& packet);
  void join_parts(AVPacket& packet);
  void begin_cutting();
  void go_back(std::size_t from);
  void replay(std::size_t from);
  void doubt();

  AVFormatContext& input_;
  const MediaStreams& streams_;
  AVIOContext* received_;  // what the input was read from
  AvioOwner handed_;       // what it is read from
  std::int64_t position_;  // there, of the next packet

  TsFraming framing_;
  std::vector<std::uint8_t> again_;  // packets that libavformat gets a second time, before all others
  std::size_t again_at_ = 0;

  int video_ = -1;
  AVCodecID codec_ = AV_CODEC_ID_NONE;
  unsigned pid_ = 0;
  int map_pid_ = -1;                  // of the programme map that has the video; -1: there is none
  std::optional<int> type_;           // of the video, as the newest map lists it
  bool changed_ = false;              // which was another one before
  PesTracker pes_;                    // those that are not done with
  AvPacket part_ = make_av_packet();  // of a PES packet whose rest has not come out yet
  bool cuts_ = false;                 // PES packets are handed out where they end, and not parsed
  std::int64_t valid_from_ = 0;       // what began before this position comes again
  int wanted_ = 0;                    // PES packets in a row that have to be found right
  int found_ = 0;
  bool handed_video_ = false;  // it was the last that libavformat got
  bool end_due_ = false;       // the end of a PES packet is what it gets next
  bool end_handed_ = false;    // and has got
  bool awaited_ = false;       // the PES packet that has ended has not come out yet
  bool over_ = false;          // nothing more is received
  // The video has moved: where what follows begins; and what comes behind its last unit.
  std::optional<std::int64_t> moved_at_;
  AvPacket next_ = make_av_packet();
  struct Dated {
    std::int64_t raw_dts = 0;  // 33 bits
    std::int64_t dts = 0;
    std::int64_t duration = 0;
  };
  std::optional<Dated> newest_;  // unit that was found to be a PES packet
  int whole_ = 0;                // such units in a row
  std::optional<UnitParser> parser_;
  std::optional<UnitCheck> check_;
};

}  // namespace campipe
