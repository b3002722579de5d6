// Random tokens, and the hashes by which they are known. By libsodium. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace campipe {

// In a time that does not depend on where they differ.
bool equal_secrets(std::string_view a, std::string_view b);
std::string base64url(const std::vector<unsigned char>& bytes);
// 256 random bits in base64url. Throws Error where there are none.
std::string random_token();
// A hash (BLAKE2b, 256 bits, in base64url), from which a text of so many random bits cannot be found. `purpose`: hashes
// of the same text for different purposes have nothing in common.
std::string hash_of(std::string_view purpose, std::string_view text);

}  // namespace campipe
