// Which JPEG files RTP can carry: its form (RFC 2435) has no header of the file's own, but says what it was in a few
// bits. And GStreamer's payloader reads behind the end of a file whose headers do not end in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace campipe {

// What of that frame RTP cannot carry; empty: it carries it.
std::string without_rtp_form(std::span<const std::uint8_t> jpeg);

}  // namespace campipe
