// The NAL units of a packet of H.264 or HEVC, however its container divides them. Anybody's bytes: what is not
// understood ends the walk.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/ffmpeg.h"

namespace campipe {

// A unit with its header; divided by start codes, the next ones may follow it. Returns whether more are wanted.
using LookAtUnit = std::function<bool(std::span<const std::uint8_t> unit)>;

// `codec`: of the packet, H.264 or HEVC.
void each_nal_unit(const AVCodecParameters& codec, const AVPacket& packet, const LookAtUnit& look);

// Whether no decoder can make a picture of the packet: the length of a unit exceeds it, or all slices are empty behind
// their headers. `codec`: of the packet, H.264 or HEVC.
bool is_broken(const AVCodecParameters& codec, const AVPacket& packet);

}  // namespace campipe
