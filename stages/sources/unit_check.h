// Whether packets of video are one access unit each: by libavcodec's parser, which finds the end of one in the next.
#pragma once

#include "core/av_parser.h"
#include "core/ffmpeg.h"

namespace campipe {

class UnitCheck {
 public:
  enum class Answer : std::uint8_t {
    unit,           // as far as it is known
    several,        // it holds more than one, or parts of them
    goes_on_before  // it begins with a part of the one in the packet before it
  };

  // `stream` outlives it. Throws std::bad_alloc, as do all its functions.
  explicit UnitCheck(const AVCodecParameters& stream) : stream_(stream) { restart(); }
  // The next packet of the stream. What it is a part of, shows the one behind it.
  Answer add(const AVPacket& packet);
  // What is next does not follow what was before.
  void restart();

 private:
  const AVCodecParameters& stream_;
  AvCodecContext context_;
  AvParser parser_;  // null: this FFmpeg has none, and nobody makes units of packets
  int held_ = 0;     // bytes of a unit whose end was not found yet
};

}  // namespace campipe
