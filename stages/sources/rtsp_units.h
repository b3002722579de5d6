// What an RTSP camera sends, as whole access units and frames of sound, each as soon as it is complete, and with when
// it was received.
//
// libavformat hands out an access unit of H.264, HEVC or MPEG-4 only once the next one has begun: a frame late, and
// with the capture time of the next one. Its parser is needed for the analysis of the stream, and is left out from then
// on: a read that fails at once has it give back all that it holds.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "stages/sources/access_units.h"
#include "stages/sources/decode_times.h"
#include "stages/sources/media_streams.h"
#include "stages/sources/read_watch.h"
#include "stages/sources/rtp_marks.h"
#include "stages/sources/sound_frames.h"
#include "stages/sources/unit_parser.h"

namespace campipe {

// Of one connection; of its thread alone.
class RtspUnits {
 public:
  // What is received for `input` must be shown to it from the beginning (ReceiveLimit::show_to).
  ReceiveObserver& observer() { return marks_; }
  // RtpMarks::payload_types()
  [[nodiscard]] std::string payload_types() const { return marks_.payload_types(); }
  // RtpMarks::has_too_many_units()
  [[nodiscard]] bool has_too_many_units() const { return marks_.has_too_many_units(); }
  // A read that fails now loses nothing of a packet.
  [[nodiscard]] bool is_between_packets() const { return marks_.is_between_packets(); }

  // After the analysis of `input`, which outlives this; its waits ask `watch`. Of other codecs libavformat puts the
  // frames together. Throws std::bad_alloc.
  void begin(AVFormatContext& input, const MediaStreams& streams, ReadWatch& watch);

  // As av_read_frame() of that input. A read that fails gives what there is of a unit first.
  int read(AVPacket& packet);
  // When the last of what was read last was received (monotonic, ns); nothing: that is not known.
  [[nodiscard]] std::optional<std::int64_t> received() const { return received_; }

 private:
  struct Ready {
    AvPacket packet;
    std::optional<std::int64_t> received;
  };

  void take_analyzed(ReadWatch& watch);
  void add(AvPacket packet, const std::optional<RtpMark>& mark, std::optional<std::int64_t> received);
  void take_units();
  void follow_sets(const AVPacket& unit);

  RtpMarks marks_;
  AVFormatContext* input_ = nullptr;
  int video_ = -1;
  int audio_ = -1;
  std::int64_t frame_ = 0;            // its length, in the video's time base; 0: not known
  std::optional<AccessUnits> units_;  // of codecs that come in fragments
  std::optional<UnitParser> parser_;
  std::optional<DecodeTimes> decode_times_;
  std::vector<std::uint8_t> sequence_;  // the newest one's parameter set, of H.264 and HEVC
  std::optional<SoundFrames> sound_;
  std::deque<Ready> ready_;
  std::optional<std::int64_t> received_;
  int failure_ = 0;  // to be returned when all that is ready was read
};

}  // namespace campipe
