#include "app/config/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace campipe {
namespace {

bool is_ipv4(const std::string& host) {
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

bool is_ipv6(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

std::optional<std::array<unsigned char, 16>> address_bytes(const std::string& text) {
  std::array<unsigned char, 16> bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  constexpr std::size_t mapped = 12;
  if (::inet_pton(AF_INET, text.c_str(), bytes.data() + mapped) == 1) return bytes;
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  return std::nullopt;
}

bool is_name(const std::string& host) {
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-";
  const bool only_numbers = host.find_first_not_of("0123456789.") == std::string::npos;
  return host.size() <= 253 && host.find_first_not_of(allowed) == std::string::npos && !only_numbers;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

}  // namespace

std::optional<ListenAddress> split_listen_address(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || text.find('\0') != std::string::npos) return std::nullopt;
  const auto port = parse_port(std::string_view(text).substr(colon + 1));
  std::string host = text.substr(0, colon);
  const bool in_brackets = host.starts_with('[') && host.ends_with(']');
  if (in_brackets) host = host.substr(1, host.size() - 2);
  const bool good = in_brackets ? is_ipv6(host) : host.empty() || is_ipv4(host) || is_name(host);
  if (!good || !port) return std::nullopt;
  return ListenAddress{host, *port};
}

bool is_loopback(const ListenAddress& address) {
  return address.host == "localhost" || address.host == "::1" ||
         (is_ipv4(address.host) && address.host.starts_with("127."));
}

std::optional<PortRange> parse_port_range(const std::string& text) {
  const auto dash = text.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto first = parse_port(std::string_view(text).substr(0, dash));
  const auto last = parse_port(std::string_view(text).substr(dash + 1));
  if (!first || !last || *first == 0 || *first > *last) return std::nullopt;
  return PortRange{*first, *last};
}

bool is_address(const std::string& text) { return address_bytes(text).has_value(); }

bool AddressRange::contains(const std::string& address) const {
  const auto other = address_bytes(address);
  if (!other) return false;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned mask = 0x80U >> bit % 8;
    if ((bytes[bit / 8] & mask) != ((*other)[bit / 8] & mask)) return false;
  }
  return true;
}

std::optional<AddressRange> parse_address_range(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  const auto bytes = address_bytes(address);
  if (!bytes || text.find('\0') != std::string::npos) return std::nullopt;
  if (slash == std::string::npos) return AddressRange{*bytes};
  const unsigned most = is_ipv4(address) ? 32 : 128;
  unsigned bits = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + slash + 1, last, bits);
  if (error != std::errc() || end != last || bits > most) return std::nullopt;
  return AddressRange{*bytes, 128 - most + bits};
}

}  // namespace campipe
