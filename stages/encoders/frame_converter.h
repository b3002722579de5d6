// Frames as an encoder takes them, where it does not take them as they come.
#pragma once

#include "core/ffmpeg.h"
#include "core/frame.h"

namespace campipe {

// As JPEG wants them: planes of their own, all values from 0 to 255, colours by BT.601. Video mostly is none of that,
// and a player takes a JPEG for nothing else.
FrameFormat jpeg_format(const FrameFormat& format);

// From one format to another of the same size: nv12 to i420, range and colours. Used by one thread.
class FrameConverter {
 public:
  // Frames of `from` that are larger are cut. `to`: of i420. Throws Error.
  FrameConverter(const FrameFormat& from, const FrameFormat& to);
  // Its pixels change with the next call, unless a reference to them is held.
  AvFrame convert(const FrameView& in);

 private:
  Scaler scaler_;
  AvFrame frame_;
};

}  // namespace campipe
