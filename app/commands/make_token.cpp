#include "app/commands/make_token.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <iostream>
#include <string>

#include "app/config/token_hash.h"
#include "core/error.h"

namespace campipe {
namespace {

// 258 random bits in characters that an address takes as they are.
std::string make_token() {
  constexpr std::string_view characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<unsigned char, 43> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw system_error("there are no random numbers", errno);
  std::string token;
  for (const unsigned char byte : bytes) token += characters[byte % characters.size()];
  return token;
}

}  // namespace

int run_make_token() {
  const std::string token = make_token();
  std::cout << "for the screen's browser, behind the rig's address:  /?token=" << token << "&kiosk=1\n"
            << "for the configuration, as the `token` of a user:     " << hash_token(token) << '\n';
  return 0;
}

}  // namespace campipe
