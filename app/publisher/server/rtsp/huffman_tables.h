// The Huffman tables that ITU-T T.81 gives as typical ones (K.3): those that RTP's readers take (RFC 2435).
#pragma once

#include <cstdint>
#include <span>

namespace campipe {

// As it stands in a JPEG file, behind its number. `ac`: of AC coefficients, else of DC ones; `colour`: of chrominance,
// else of luminance.
std::span<const std::uint8_t> standard_huffman(bool ac, bool colour);

}  // namespace campipe
