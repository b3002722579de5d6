// An encoded picture and the stream it belongs to, as they travel from worker to publisher.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/frame.h"

namespace campipe {

// What a muxer or viewer must know before the first packet. A new encoder of the same camera may go on with
// the same file or stream only if its parameters are equal.
struct StreamParameters {
  std::string codec;    // FFmpeg's name of the codec: "h264"
  std::string encoder;  // FFmpeg's name of the encoder that really opened: "libx264"
  FrameFormat format;
  double frame_rate = 0;                // frames a second as announced; 0: unknown or variable
  std::vector<std::uint8_t> extradata;  // as AVCodecParameters.extradata
  int rotation = 0;                     // how frames are to be turned and mirrored: core/orientation.h
  friend bool operator==(const StreamParameters&, const StreamParameters&) = default;
};

// Of a camera's audio, which is only ever passed on.
struct AudioParameters {
  std::string codec;  // FFmpeg's name: "aac", "pcm_mulaw"
  int sample_rate = 0;
  int channels = 0;
  int frame_size = 0;  // samples a packet; 0: it varies
  int bits_per_coded_sample = 0;
  int block_align = 0;
  std::vector<std::uint8_t> extradata;
  friend bool operator==(const AudioParameters&, const AudioParameters&) = default;
};

// One packet; times in nanoseconds, as in FrameTimes. `data` is owned by the giver of the packet.
struct PacketView {
  std::span<const std::uint8_t> data;
  std::int64_t dts = 0;  // strictly grows within one encoder's packets
  bool key = false;      // decoding can start here
  FrameTimes times;      // times.pts is the presentation time
  FrameMetadata metadata = {};
};

}  // namespace campipe
