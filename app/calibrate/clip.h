// Streams to time decoders with, and what encoding them took.
#pragma once

#include <string>
#include <vector>

#include "app/costs/codec_work.h"
#include "core/ffmpeg.h"
#include "core/frame.h"
#include "core/source_stream.h"

namespace campipe {

struct EncodedFootage {
  AvCodecParameters codec;
  std::vector<AvPacket> packets;  // the first one is a key frame, the only one
  double us = 0;                  // of CPU time for a frame that is none

  // `codec` must outlive it.
  [[nodiscard]] SourceStream stream() const;
};

struct EncodedAs {
  std::string preset = "auto";
  double bits_a_pixel = usual_bits_a_pixel;
};
// FFmpeg's name of what encodes a codec on the CPU by default; and the codecs that it has an encoder for here, which
// are those that are timed.
std::string encoder_of(const std::string& codec);
std::vector<std::string> probed_codecs();

// `codec`: h264, hevc or mjpeg, encoded on the CPU as cameras are by default. Throws Error where FFmpeg here has no
// encoder for it.
EncodedFootage encode_footage(const std::string& codec, const FrameFormat& format, const EncodedAs& as = {});

// µs of CPU time for a frame, decoded into a ring by one thread.
double decode_us_of(const EncodedFootage& clip);
// Of the test pattern, which is painted.
double paint_us_of(const FrameFormat& format);

// CUDA only. µs from one frame to the next that all of the GPU's decoders together give, with several streams at once.
// Throws HardwareRefused where it does not decode the clip.
double gpu_decode_us_of(const EncodedFootage& clip, const Device& gpu);

}  // namespace campipe
