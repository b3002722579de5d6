// Users for the targets that let people in or not: "ann" may do everything, "ben" may view the camera `dock`.
#pragma once

#include <sodium.h>

#include <array>
#include <stdexcept>

#include "app/publisher/server/access.h"

namespace campipe::fuzz {

inline constexpr const char* right_password = "pass:word";
inline constexpr const char* right_secret = "s3cret";

// As cheap as it can be: a fuzzer logs in thousands of times.
inline std::string cheap_hash(const std::string& password) {
  std::array<char, crypto_pwhash_STRBYTES> hash{};
  if (::sodium_init() < 0 || ::crypto_pwhash_str(hash.data(), password.data(), password.size(),
                                                 crypto_pwhash_OPSLIMIT_MIN, crypto_pwhash_MEMLIMIT_MIN) != 0)
    throw std::runtime_error("libsodium cannot be used");
  return hash.data();
}

inline const ServerConfig& server_with_users() {
  static const ServerConfig config = [] {
    ServerConfig made;
    const std::string hash = cheap_hash(right_password);
    made.users = {{"ann", hash, right_secret, Permission::administer, {}},
                  {"ben", hash, "", Permission::view, {"dock"}}};
    return made;
  }();
  return config;
}

// Nobody has to wait after failed logins: each look at the clock is an hour later.
inline std::function<Clock::time_point()> hurried_clock() {
  return [time = Clock::now()]() mutable { return time += std::chrono::hours(1); };
}

}  // namespace campipe::fuzz
