// Makes frames of sound whose RTP packets do not hold whole ones: libavformat has a parser for them, which it no longer
// uses once AccessUnits is used for the video beside it.
#pragma once

#include <cstdint>

#include "core/ffmpeg.h"
#include "stages/sources/unit_parser.h"

namespace campipe {

// Whether packets of that codec need it.
bool needs_sound_frames(AVCodecID codec);

class SoundFrames {
 public:
  // `time_base`: of the packets. Throws std::bad_alloc.
  SoundFrames(const AVCodecParameters& stream, AVRational time_base);
  // Calls take(AvPacket) for each frame that is complete with `packet`, with its time and duration. Throws
  // std::bad_alloc.
  template <typename Take>
  void add(const AVPacket& packet, const Take& take) {
    begin(packet);
    while (AvPacket frame = next()) take(std::move(frame));
  }

 private:
  void begin(const AVPacket& packet);
  AvPacket next();

  AvCodecContext context_;
  AvParser parser_;
  AVRational time_base_;
  const AVPacket* packet_ = nullptr;   // while it is being parsed
  int at_ = 0;                         // in its data
  bool dated_ = false;                 // the parser has its time
  std::int64_t due_ = AV_NOPTS_VALUE;  // when the next frame is, if it says nothing
};

}  // namespace campipe
