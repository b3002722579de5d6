// How many frames of a stream are decoded before one that is shown before them, by its parameter sets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/ffmpeg.h"

namespace campipe {

// `extradata`: parameter sets of H.264 or HEVC, as AVCodecParameters have them. Nothing: they do not say, as those of
// H.264 need not.
std::optional<int> reorder_depth(AVCodecID codec, std::span<const std::uint8_t> extradata);

}  // namespace campipe
