// Looks for motion in the packets that a camera's copies pass on, as far as this machine keeps up. It holds up no copy
// for long and ends none: what fails is logged, and tried again when the source is opened again.
//
// CopyMotion does the work; this decides when, and with whose decoder. Used by the camera's decoding thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "app/master/copy_motion.h"
#include "app/master/decoding_context.h"
#include "app/rings/packet_note.h"
#include "core/line_limit.h"

namespace campipe {

class MotionFollower {
 public:
  MotionFollower(const DecodingContext& camera, const RigPage& page);

  // The source was opened (again). `others_decode`: frames of the camera's own decoder come to look(), in host memory;
  // else a decoder on the CPU is opened for motion alone.
  void begin(const SourceStream& stream, bool others_decode);
  void end() { motion_.end(); }
  // After the copies have passed it on, which carries the score of the frame before.
  void take(const AVPacket& packet, const PacketNote& note);
  // At what the camera's own decoder shows, if it has none of its own.
  void look(const FrameRingMemory& ring, const DecodedFrame& frame);
  // See CopyMotion.
  [[nodiscard]] FrameMetadata metadata(OutputId output) const { return motion_.metadata(output); }

 private:
  bool is_behind(const AVPacket& packet, const PacketNote& note);
  void attempt(const std::function<void()>& work);

  const DecodingContext& camera_;
  CopyMotion motion_;
  bool behind_ = false;                  // packets are left out
  std::optional<std::int64_t> allowed_;  // delay, ns; none: no packet has come yet
  LineLimit lines_{std::chrono::minutes(10)};
};

}  // namespace campipe
