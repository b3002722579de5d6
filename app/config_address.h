// Addresses to listen at, as the configuration writes them: "HOST:PORT" or ":PORT".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace campipe {

struct ListenAddress {
  std::string host;  // a name or an address, IPv6 without its brackets; empty: all of this machine's addresses
  std::uint16_t port = 0;
};

// Nothing: it is no such address.
std::optional<ListenAddress> split_listen_address(const std::string& text);
// Only this machine reaches it. A name other than localhost may mean anything.
bool is_loopback(const ListenAddress& address);

}  // namespace campipe
