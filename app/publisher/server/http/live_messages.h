// The messages of GET /live (docs/api.md), as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace campipe {

enum class LiveKind : std::uint8_t { beat, text, bytes };

inline constexpr std::size_t live_head_size = 8;

struct LiveHead {
  std::size_t kind = 0;  // of LiveKind, or what another version has
  std::size_t stream = 0;
  std::size_t size = 0;  // of what follows
};

inline void append_head(std::string& to, LiveKind kind, std::size_t stream, std::size_t size) {
  const auto append = [&to](std::size_t value, unsigned bytes) {
    for (unsigned shift = 8 * bytes; shift > 0; shift -= 8) to += static_cast<char>(value >> (shift - 8));
  };
  append(static_cast<std::size_t>(kind), 2);
  append(stream, 2);
  append(size, 4);
}

// `bytes`: live_head_size at least.
inline LiveHead read_live_head(const std::string& bytes) {
  const auto number = [&bytes](std::size_t at, std::size_t count) {
    std::size_t value = 0;
    for (std::size_t i = at; i < at + count; ++i) value = value * 256 + static_cast<unsigned char>(bytes[i]);
    return value;
  };
  return {number(0, 2), number(2, 2), number(4, 4)};
}

}  // namespace campipe
