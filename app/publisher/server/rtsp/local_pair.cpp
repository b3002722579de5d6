#include "app/publisher/server/rtsp/local_pair.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace campipe {
namespace {

using NameOf = int (*)(int, sockaddr*, socklen_t*);

std::optional<sockaddr_in> address_of(NameOf name_of, const UniqueFd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  const bool known = name_of(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0;
  return known ? std::optional(address) : std::nullopt;
}

}  // namespace

std::optional<std::pair<UniqueFd, UniqueFd>> local_pair() {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  UniqueFd one(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!listener || !one || ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
      ::listen(listener.get(), 1) != 0)
    return std::nullopt;
  const auto at = address_of(::getsockname, listener);
  if (!at || ::connect(one.get(), reinterpret_cast<const sockaddr*>(&*at), sizeof *at) != 0) return std::nullopt;
  UniqueFd other(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!other || ::fcntl(one.get(), F_SETFL, O_NONBLOCK) != 0) return std::nullopt;
  // Another process may have been faster.
  const auto own = address_of(::getsockname, one);
  const auto peer = address_of(::getpeername, other);
  if (!own || !peer || own->sin_port != peer->sin_port) return std::nullopt;
  return std::pair(std::move(one), std::move(other));
}

}  // namespace campipe
