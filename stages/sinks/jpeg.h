// Frames as JPEG, in the colours that every viewer expects of one: JFIF, that is full range and BT.601.
#pragma once

#include <cstdint>
#include <span>

#include "core/ffmpeg.h"
#include "core/frame.h"

namespace campipe {

class JpegEncoder {
 public:
  JpegEncoder();
  // `frame` in host memory, of any size and format. The bytes are valid until the next call. Throws Error.
  std::span<const std::uint8_t> encode(const FrameView& frame);

 private:
  void prepare(const FrameFormat& format);

  FrameFormat format_;
  Scaler scaler_;
  AvFrame frame_;
  AvCodecContext encoder_;  // null: not prepared
  AvPacket packet_;
};

}  // namespace campipe
