// Two users with passwords that are checked quickly, and a clock of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <sodium.h>

#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "app/publisher/server/access.h"

namespace campipe::test {

inline const std::string home = "10.0.0.5";

// As hash_password() makes it, but for a few milliseconds in place of tens, and 4 MiB. To check a password is then as
// quick: those who wait for their turn are not refused because a machine is busy.
inline std::string quick_hash(const std::string& password) {
  std::array<char, crypto_pwhash_STRBYTES> hash{};
  if (::sodium_init() < 0 ||
      ::crypto_pwhash_str(hash.data(), password.data(), password.size(), crypto_pwhash_OPSLIMIT_MIN, 4U << 20U) != 0)
    throw std::runtime_error("libsodium cannot hash");
  return hash.data();
}
inline const std::string& hash_of_right() {
  static const std::string hash = quick_hash("right");
  return hash;
}

inline UserConfig user(const std::string& name, Permission may, std::vector<std::string> cameras = {}) {
  return {name, hash_of_right(), "", may, std::move(cameras)};
}

inline ServerConfig with_users(std::vector<UserConfig> users) {
  ServerConfig config;
  config.users = std::move(users);
  return config;
}

class AccessTest : public ::testing::Test {
 protected:
  Clock::time_point time_ = Clock::now();
  ServerConfig config_ = with_users({user("ann", Permission::administer), user("ben", Permission::view, {"dock"})});
  Access access_{config_, [this] { return time_; }};

  bool lets_in(const std::string& name, const std::string& password, const std::string& address = home) {
    return access_.check_password(name, password, address).identity.has_value();
  }
  Access::Session session_of(const std::string& name) { return access_.open_session(*access_.identity_of(name)); }
};

}  // namespace campipe::test
