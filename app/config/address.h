// Addresses to listen at, as the configuration writes them: "HOST:PORT" or ":PORT".
#pragma once

#include <array>
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

// "7000-7099".
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};
// Nothing: it is none.
std::optional<PortRange> parse_port_range(const std::string& text);

// Of IPv4 or IPv6, in numbers.
bool is_address(const std::string& text);

// "10.0.0.0/8", or one address.
struct AddressRange {
  std::array<unsigned char, 16> bytes{};  // IPv4 as ::ffff:0:0/96
  unsigned bits = 128;                    // of them count
  // False for what is no address.
  [[nodiscard]] bool contains(const std::string& address) const;
};
// Nothing: it is none.
std::optional<AddressRange> parse_address_range(const std::string& text);

}  // namespace campipe
