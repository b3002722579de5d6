// The size of a packet's frame by what stands in the packet itself, which counts whatever its container says.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/ffmpeg.h"

namespace campipe {

struct SentFormat {
  int width = 0;
  int height = 0;
  AVPixelFormat pixels = AV_PIX_FMT_NONE;  // as far as it shows
  friend bool operator==(const SentFormat&, const SentFormat&) = default;
};

// Of a key frame of a stream with that extradata. Nothing: it does not show, as of codecs of which only a decoder finds
// it out.
std::optional<SentFormat> format_in(AVCodecID codec, std::span<const std::uint8_t> extradata,
                                    std::span<const std::uint8_t> packet);

}  // namespace campipe
