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

// No decoder makes a picture of it: units have lengths that lead out of it, or those of a picture are nothing but
// headers. `codec`: likewise.
bool is_broken(const AVCodecParameters& codec, const AVPacket& packet);

}  // namespace campipe
