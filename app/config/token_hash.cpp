#include "app/config/token_hash.h"

#include <sodium.h>

#include <array>

namespace campipe {

std::string hash_token(const std::string& token) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  const std::basic_string<unsigned char> bytes(token.begin(), token.end());
  ::crypto_hash_sha256(hash.data(), bytes.data(), bytes.size());
  std::array<char, 2 * crypto_hash_sha256_BYTES + 1> text{};
  return ::sodium_bin2hex(text.data(), text.size(), hash.data(), hash.size());
}

bool is_token_hash(const std::string& text) {
  return text.size() == 2 * crypto_hash_sha256_BYTES && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace campipe
