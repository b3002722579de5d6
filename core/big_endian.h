// Numbers as networks and files of other machines have them: the highest byte first.
#pragma once

#include <cstdint>

namespace campipe {

// `size`: 1 to 8 bytes.
inline void put_big_endian(std::uint64_t value, int size, std::uint8_t* out) {
  for (int i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(value >> (8 * (size - 1 - i)));
}

inline std::uint64_t get_big_endian(const std::uint8_t* in, int size) {
  std::uint64_t value = 0;
  for (int i = 0; i < size; ++i) value = value << 8 | in[i];
  return value;
}

}  // namespace campipe
