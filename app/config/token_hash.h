// Tokens of users whose screens log in without anybody who could type, as they are kept: as SHA-256 in hexadecimal
// digits. That is enough for what has 256 random bits, and for nothing that a person makes up.
#pragma once

#include <string>

namespace campipe {

inline constexpr std::size_t shortest_token = 32;  // characters; what `campipe make-token` prints has 43

std::string hash_token(const std::string& token);
// Whether it is what hash_token() returns.
bool is_token_hash(const std::string& text);

}  // namespace campipe
