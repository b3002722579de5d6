// What people may see of an address that the configuration gives: never what a variable holds.
#pragma once

#include <string>

namespace campipe {

// As the configuration has it, with its user and password, and with the names of variables in place of what they hold.
// `Address`: has its `url`, and `written`, which is empty where no variable is in it.
template <typename Address>
const std::string& written_url(const Address& address) {
  return address.written.empty() ? address.url : address.written;
}

}  // namespace campipe
