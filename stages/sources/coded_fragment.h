// What stands in a fragment of an access unit, as depacketizers of RTP hand it out: whole NAL units with start codes,
// or a part of one.
#pragma once

#include <cstdint>
#include <span>

#include "core/ffmpeg.h"

namespace campipe {

// Whether libavformat hands out each RTP packet of that codec by itself.
bool comes_in_fragments(AVCodecID codec);

// Whether it begins an access unit where there is a picture before it: by what it holds, whatever its time is. False
// also where a codec does not show it.
bool begins_unit(AVCodecID codec, std::span<const std::uint8_t> fragment);

// Whether a picture, or a slice of one, begins in it, rather than only what goes before: parameter sets, messages.
// True also where a codec does not show it.
bool holds_picture(AVCodecID codec, std::span<const std::uint8_t> fragment);

// Whether it can be understood without a fragment before it.
bool stands_alone(AVCodecID codec, std::span<const std::uint8_t> fragment);

}  // namespace campipe
