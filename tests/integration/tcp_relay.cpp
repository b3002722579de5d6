#include "tests/integration/tcp_relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/error.h"

namespace campipe::test {
namespace {

constexpr int wait_ms = 20;
constexpr int buffer = 16'384;  // bytes; a stall soon fills it, and the sender has to throw frames away

sockaddr_in local(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

UniqueFd new_socket() {
  UniqueFd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (made.get() < 0) throw system_error("socket", errno);
  return made;
}

// False: the connection is over.
bool hand_on(int from, int to) {
  std::array<char, 65536> piece;
  const ssize_t size = ::recv(from, piece.data(), piece.size(), 0);
  if (size <= 0) return false;
  for (ssize_t sent = 0; sent < size;) {
    const ssize_t part = ::send(to, piece.data() + sent, static_cast<std::size_t>(size - sent), MSG_NOSIGNAL);
    if (part <= 0) return false;
    sent += part;
  }
  return true;
}

}  // namespace

TcpRelay::TcpRelay(int target_port) : target_port_(target_port), listener_(new_socket()) {
  sockaddr_in address = local(0);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (::bind(listener_.get(), generic, size) != 0 || ::listen(listener_.get(), 8) != 0 ||
      ::getsockname(listener_.get(), generic, &size) != 0) {
    throw system_error("a port for the relay", errno);
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this](const std::stop_token& stop) { accept_connections(stop); });
}

TcpRelay::~TcpRelay() { thread_ = {}; }

void TcpRelay::cut() { ++cuts_; }

void TcpRelay::accept_connections(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd ready{listener_.get(), POLLIN, 0};
    if (::poll(&ready, 1, wait_ms) <= 0) continue;
    const int cuts = cuts_;  // before it: what is cut later is cut, however late its thread begins
    auto connection = std::make_shared<Connection>();
    connection->outside.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    connection->inside = new_socket();
    ::setsockopt(connection->inside.get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    const sockaddr_in target = local(target_port_);
    const auto* const generic = reinterpret_cast<const sockaddr*>(&target);
    if (connection->outside.get() < 0 || ::connect(connection->inside.get(), generic, sizeof target) != 0) continue;
    pumps_.emplace_back([this, connection, cuts](const std::stop_token& end) { pump(end, *connection, cuts); });
  }
  pumps_.clear();
}

void TcpRelay::pump(const std::stop_token& stop, const Connection& connection, int cuts) {
  const int outside = connection.outside.get();
  const int inside = connection.inside.get();
  bool open = true;
  while (open && !stop.stop_requested() && cuts == cuts_) {
    // Those that are negative are not looked at.
    std::array<pollfd, 2> ready{
        {{inwards_paused_ ? -1 : outside, POLLIN, 0}, {outwards_paused_ ? -1 : inside, POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), wait_ms) <= 0) continue;
    if (ready[0].revents != 0 && !inwards_paused_) open = hand_on(outside, inside);
    if (open && ready[1].revents != 0 && !outwards_paused_) open = hand_on(inside, outside);
  }
  ::shutdown(outside, SHUT_RDWR);
  ::shutdown(inside, SHUT_RDWR);
}

}  // namespace campipe::test
