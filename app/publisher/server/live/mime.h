// What Media Source Extensions want to know of a stream (RFC 6381).
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace campipe {

// Of the init segment (ftyp and moov) of fragmented MP4 with one H.264 or HEVC track, as
// "video/mp4; codecs=\"avc1.64001f\"". Empty: there is no such track.
std::string mime_of_init_segment(std::span<const std::uint8_t> segment);

}  // namespace campipe
