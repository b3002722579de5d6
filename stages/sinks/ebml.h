// The elements that a Matroska file consists of: EBML (RFC 8794).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/big_endian.h"

namespace campipe {

struct ElementHead {
  std::uint64_t id = 0;
  std::size_t length = 0;             // of the head
  std::optional<std::uint64_t> size;  // of the contents; nothing: not known
};

// A number that begins with its own length. Nothing: it is cut off, or longer than 8 bytes.
inline std::optional<std::size_t> length_of_number(std::span<const std::uint8_t> bytes, std::size_t at) {
  if (at >= bytes.size()) return std::nullopt;
  const auto length = static_cast<std::size_t>(std::countl_zero(bytes[at])) + 1;
  return length > 8 || at + length > bytes.size() ? std::nullopt : std::optional(length);
}

// Nothing: it is cut off.
inline std::optional<ElementHead> element_head(std::span<const std::uint8_t> bytes, std::size_t at = 0) {
  const auto id = length_of_number(bytes, at);
  const auto size = id ? length_of_number(bytes, at + *id) : std::nullopt;
  if (!size) return std::nullopt;
  const std::uint64_t unknown = (std::uint64_t{1} << (7 * *size)) - 1;
  const std::uint64_t value = get_big_endian(&bytes[at + *id], static_cast<int>(*size)) & unknown;
  return ElementHead{get_big_endian(&bytes[at], static_cast<int>(*id)), *id + *size,
                     value == unknown ? std::nullopt : std::optional(value)};
}

}  // namespace campipe
