#include "app/commands/hash_password.h"

#include <unistd.h>

#include <iostream>
#include <string>

#include "app/commands/terminal.h"
#include "app/config/exit_status.h"
#include "app/config/password_hash.h"

namespace campipe {
namespace {

int refuse(const char* why) {
  std::cerr << "campipe hash-password: " << why << '\n';
  return usage_error;
}

}  // namespace

int run_hash_password() {
  std::string password;
  if (::isatty(STDIN_FILENO) == 1) {
    password = ask_password("password: ");
    if (ask_password("the same again: ") != password) return refuse("these are two different passwords");
  } else if (!std::getline(std::cin, password)) {
    return refuse("no password on standard input, expected it on the first line");
  }
  if (password.empty()) return refuse("an empty password would let every visitor in");
  std::cout << hash_password(password) << '\n';
  return 0;
}

}  // namespace campipe
