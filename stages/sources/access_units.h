// Puts access units together from the fragments in which libavformat hands out a camera's RTP packets.
//
// A unit ends with the packet that has RTP's marker, so that it need not wait for the next one. Markers are believed
// once they have been where units end, and never again after one that stood elsewhere: then a unit ends where the next
// one begins. Of one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/ffmpeg.h"
#include "stages/sources/rtp_marks.h"

namespace campipe {

class AccessUnits {
 public:
  // `codec`: one for which comes_in_fragments() is true. `time_base`: the fragments'.
  AccessUnits(AVCodecID codec, AVRational time_base);

  // Whole, with the time and side data of its picture's first fragment. Nothing is known of its dts and duration, nor
  // whether it is a key frame.
  struct Unit {
    AvPacket packet;
    std::optional<std::int64_t> received;  // its last fragment
  };

  // The next fragment of the stream, with data. `mark`: of the RTP packet that it came in, where that is known.
  // `received`: when (monotonic, ns); nothing: not known. Throws std::bad_alloc.
  void add(AvPacket fragment, const std::optional<RtpMark>& mark, std::optional<std::int64_t> received);
  // No more fragments come: what there is of a unit is one. What holds no picture is dropped.
  void end();

  // The next one; nothing: none yet.
  std::optional<Unit> take();

 private:
  struct Time {
    std::int64_t pts = AV_NOPTS_VALUE;
    std::optional<std::uint32_t> timestamp = {};  // of RTP
  };

  [[nodiscard]] bool is_now(const Time& time) const;
  void finish();
  [[nodiscard]] bool believes_markers() const;

  AVCodecID codec_;
  std::int64_t tolerance_;
  std::vector<AvPacket> parts_;
  std::size_t first_ = 0;     // the part that has the unit's time
  bool has_picture_ = false;  // among the parts
  bool marked_ = false;       // the last part had a marker
  Time now_;                  // of the newest fragment
  std::optional<int> flow_;
  int confirmed_ = 0;  // markers that stood at the end of a unit
  bool distrusted_ = false;
  bool doubles_codes_ = false;            // it sends start codes within RTP
  std::optional<std::int64_t> received_;  // the last part
  std::deque<Unit> complete_;
};

}  // namespace campipe
