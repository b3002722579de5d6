#include "app/config/secrets.h"

#include <sodium.h>

#include "core/random_bytes.h"

namespace campipe {

bool equal_secrets(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string base64url(const std::vector<unsigned char>& bytes) {
  constexpr int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::string text(sodium_base64_encoded_len(bytes.size(), variant), '\0');
  ::sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), variant);
  text.pop_back();  // the NUL
  return text;
}

std::string random_token() { return base64url(random_bytes(32)); }

std::string hash_of(std::string_view purpose, std::string_view text) {
  std::vector<unsigned char> in(purpose.begin(), purpose.end());
  in.push_back(0);
  in.insert(in.end(), text.begin(), text.end());
  std::vector<unsigned char> out(crypto_generichash_BYTES);
  ::crypto_generichash(out.data(), out.size(), in.data(), in.size(), nullptr, 0);
  return base64url(out);
}

}  // namespace campipe
