// Whether a key frame can be decoded at all by what its stream is said to be: a camera may announce the headers of
// other settings, and never send its own. Nothing shows that but a decoder.
#pragma once

#include "core/ffmpeg.h"

namespace campipe {

enum class Trial : std::uint8_t {
  shown,   // it is decoded without a fault
  faulty,  // it is not: it was damaged, or the headers are not its own
  unknown  // it cannot be tried: no decoder for it, or a feature that this one lacks
};

// Decodes it once, on this thread, with a decoder of the CPU. `packet`: a clean start (clean_start.h), of H.264 or
// HEVC.
Trial try_key_frame(const AVCodecParameters& codec, const AVPacket& packet);

}  // namespace campipe
