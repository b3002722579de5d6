#include "app/link/network_devices.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "core/unique_handle.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

// Copied out of what any socket address lies in.
template <typename Address>
Address as(const sockaddr* address) {
  Address made{};
  std::memcpy(&made, address, sizeof made);
  return made;
}

bool is_same_host(const sockaddr* one, const sockaddr* other) {
  if (one->sa_family != other->sa_family) return false;
  if (one->sa_family == AF_INET) return as<sockaddr_in>(one).sin_addr.s_addr == as<sockaddr_in>(other).sin_addr.s_addr;
  const auto six = as<sockaddr_in6>(one);
  const auto other_six = as<sockaddr_in6>(other);
  return std::memcmp(&six.sin6_addr, &other_six.sin6_addr, sizeof six.sin6_addr) == 0;
}

}  // namespace

SocketAddress parse_socket_address(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (colon == std::string::npos || ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0)
    throw Error("'" + address + "' is no address: ADDRESS:PORT");
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  SocketAddress result;
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  result.size = found->ai_addrlen;
  return result;
}

int port_of(const sockaddr_storage& address) {
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  return ntohs(any->sa_family == AF_INET6 ? as<sockaddr_in6>(any).sin6_port : as<sockaddr_in>(any).sin_port);
}

std::string interface_with(const SocketAddress& address) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) throw system_error("cannot list the network interfaces", errno);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || !is_same_host(each->ifa_addr, address.get())) continue;
    const std::string label = each->ifa_name;  // of a further address perhaps "eth0:1"
    return label.substr(0, label.find(':'));
  }
  // All of 127.0.0.0/8 is the loopback's.
  const bool is_loopback = address.get()->sa_family == AF_INET &&
                           (ntohl(as<sockaddr_in>(address.get()).sin_addr.s_addr) >> 24U) == IN_LOOPBACKNET;
  return is_loopback ? "lo" : "";
}

// No packet is sent: the kernel looks for the route only.
std::string interface_towards(const SocketAddress& address) {
  const UniqueFd socket(::socket(address.get()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), address.get(), address.size) != 0) return {};
  SocketAddress own;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.size) != 0) return {};
  return interface_with(own);
}

std::vector<std::string> rdma_ports() {
  std::vector<std::string> ports;
  std::error_code error;  // mostly that there is no such folder
  for (const auto& device : fs::directory_iterator("/sys/class/infiniband", error)) {
    for (const auto& port : fs::directory_iterator(device.path() / "ports", error))
      ports.push_back(device.path().filename().string() + ":" + port.path().filename().string());
  }
  std::ranges::sort(ports);
  return ports;
}

}  // namespace campipe
