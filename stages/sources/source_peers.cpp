#include "stages/sources/source_peers.h"

#include <netinet/in.h>

#include <cerrno>
#include <cstring>

#include "stages/sources/next_function.h"

namespace campipe {
namespace {

thread_local SourcePeers* this_threads_peers = nullptr;

bool is_tcp(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

}  // namespace

SourcePeers::Use::Use(SourcePeers& peers) { this_threads_peers = &peers; }
SourcePeers::Use::~Use() { this_threads_peers = nullptr; }

SourcePeers* SourcePeers::of_this_thread() { return this_threads_peers; }

SourcePeers::Host SourcePeers::host_of(const sockaddr& address, unsigned size) {
  Host host{};
  if (address.sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    host[10] = host[11] = 0xff;
    std::memcpy(&host[12], &in.sin_addr, 4);
  } else if (address.sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    std::memcpy(host.data(), &in.sin6_addr, host.size());
  }
  return host;
}

bool SourcePeers::may_connect(const sockaddr& address, unsigned size) {
  if (strayed_()) return false;
  hosts_.insert(host_of(address, size));
  return true;
}

bool SourcePeers::may_send(const sockaddr& address, unsigned size) const {
  return anywhere_ || hosts_.empty() || hosts_.contains(host_of(address, size));
}

}  // namespace campipe

extern "C" {

[[gnu::visibility("default")]] int connect(int fd, const sockaddr* address, socklen_t size) {
  using Connect = int (*)(int, const sockaddr*, socklen_t);
  static const auto next = campipe::next_function<Connect>("connect");
  campipe::SourcePeers* peers = campipe::SourcePeers::of_this_thread();
  try {
    if (peers != nullptr && campipe::is_tcp(fd) && !peers->may_connect(*address, size)) {
      errno = EACCES;
      return -1;
    }
  } catch (...) {  // nothing may leave a function of the C library
    errno = ENOMEM;
    return -1;
  }
  return next(fd, address, size);
}

[[gnu::visibility("default")]] ssize_t sendto(int fd, const void* data, size_t size, int flags, const sockaddr* to,
                                              socklen_t to_size) {
  using Sendto = ssize_t (*)(int, const void*, size_t, int, const sockaddr*, socklen_t);
  static const auto next = campipe::next_function<Sendto>("sendto");
  const campipe::SourcePeers* peers = campipe::SourcePeers::of_this_thread();
  if (peers != nullptr && to != nullptr && !peers->may_send(*to, to_size)) {
    errno = EACCES;
    return -1;
  }
  return next(fd, data, size, flags, to, to_size);
}
}
