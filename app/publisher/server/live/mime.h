// What Media Source Extensions want to know of a stream (RFC 6381).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/packet.h"

namespace campipe {

// Of the init segment (ftyp and moov) of fragmented MP4 with one H.264 or HEVC track, as
// "video/mp4; codecs=\"avc1.64001f\"". Empty: there is no such track.
std::string mime_of_init_segment(std::span<const std::uint8_t> segment);
// Of audio in fragmented MP4, `audio` with its headers: "audio/mp4; codecs=\"mp4a.40.2\"". Empty: not all browsers play
// it.
std::string mime_of_sound(const AudioParameters& audio);

}  // namespace campipe
