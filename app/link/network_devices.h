// Which of this machine's network interfaces an address is about, and its RDMA devices. No state; any thread.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

namespace campipe {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// "10.0.0.7:7000", "[::1]:7000". Throws Error for anything else, such as a name.
SocketAddress parse_socket_address(const std::string& address);
int port_of(const sockaddr_storage& address);

// The interface that has the address; empty: none has, or it stands for all of them.
std::string interface_with(const SocketAddress& address);
// The one by which that address is reached; empty: there is no route now.
std::string interface_towards(const SocketAddress& address);

// Ports of RDMA devices, as UCX names them ("mlx5_0:1"), sorted.
std::vector<std::string> rdma_ports();

}  // namespace campipe
