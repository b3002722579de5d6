#include "app/config/password_hash.h"

#include <sodium.h>

#include <array>

#include "core/error.h"

namespace campipe {
namespace {

void start_library() {
  static const bool good = ::sodium_init() >= 0;
  if (!good) throw Error("libsodium cannot be used: no source of random numbers");
}

}  // namespace

std::string hash_password(const std::string& password) {
  start_library();
  std::array<char, crypto_pwhash_STRBYTES> hash{};
  if (::crypto_pwhash_str(hash.data(), password.data(), password.size(), crypto_pwhash_OPSLIMIT_INTERACTIVE,
                          crypto_pwhash_MEMLIMIT_INTERACTIVE) != 0)
    throw Error("no memory for hashing a password, which takes 64 MiB");
  return hash.data();
}

bool is_password_hash(const std::string& text) {
  start_library();
  // It looks at the parameters, and so reads the whole text; -1: that is no hash.
  return text.starts_with(crypto_pwhash_STRPREFIX) &&
         ::crypto_pwhash_str_needs_rehash(text.c_str(), crypto_pwhash_OPSLIMIT_INTERACTIVE,
                                          crypto_pwhash_MEMLIMIT_INTERACTIVE) != -1;
}

bool password_fits(const std::string& hash, const std::string& password) {
  return is_password_hash(hash) && ::crypto_pwhash_str_verify(hash.c_str(), password.data(), password.size()) == 0;
}

}  // namespace campipe
