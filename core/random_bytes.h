// The only source of bytes that nobody can guess: the kernel's. Any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace campipe {

// Throws Error where the kernel returns none.
std::vector<unsigned char> random_bytes(std::size_t size);
// Two hexadecimal digits for each byte.
std::string hex_of(std::span<const unsigned char> bytes);
// hex_of() so many random bytes.
std::string random_hex(std::size_t bytes);

}  // namespace campipe
