#include "app/publisher/server/nodes/link.h"

#include <netinet/tcp.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "app/config/address.h"
#include "app/publisher/server/nodes/certificate.h"
#include "core/name_lookup.h"

namespace campipe {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;

constexpr auto look_for_name_every = std::chrono::milliseconds(20);
// What lies in the kernel cannot be dropped any more for a viewer that is slow.
constexpr int receive_buffer = 256 * 1024;

// The system's lookup cannot be interrupted, and is done by another thread.
awaitable<std::string> find_address(std::string host, Deadline deadline) {
  const NameLookup lookup(host);
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer pause(executor);
  auto found = lookup.result();
  while (!found && Clock::now() < deadline) {
    pause.expires_after(look_for_name_every);
    co_await pause.async_wait(use_awaitable);
    found = lookup.result();
  }
  if (!found) throw NodeGone("no server of names answers");
  if (!found->problem.empty()) throw NodeGone("its host is not found: " + found->problem);
  co_return found->address;
}

// A machine that is off, or a link that is dead, says nothing: found out after some seconds.
void probe_link(tcp::socket& socket) {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(socket.native_handle(), level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

awaitable<std::unique_ptr<HttpStream>> connect_to(NodeTarget target, Deadline deadline) {
  const auto executor = co_await asio::this_coro::executor;
  std::string problem;
  try {
    const auto place = split_listen_address(target.address);
    if (!place) throw NodeGone("it is not HOST:PORT");
    const std::string host = co_await find_address(place->host, deadline);
    const tcp::endpoint endpoint(asio::ip::make_address(host), place->port);
    tcp::socket socket(executor);
    socket.open(endpoint.protocol());
    socket.set_option(tcp::no_delay(true));
    socket.set_option(tcp::socket::receive_buffer_size(receive_buffer));
    probe_link(socket);
    auto stream = std::make_unique<HttpStream>(std::move(socket), target.tls.get());
    stream->tcp().expires_at(deadline);
    co_await stream->tcp().async_connect(endpoint, use_awaitable);
    stream->tcp().expires_at(deadline);
    co_await stream->handshake_as_client();
    if (SSL* const tls = stream->tls_handle(); tls != nullptr && certified_name(tls) != target.node)
      throw NodeGone("the common name of its certificate is not the node's name");
    co_return stream;
  } catch (const boost::system::system_error& error) {
    const bool is_late = error.code() == boost::beast::error::timeout;
    problem = is_late ? "it does not answer in time" : error.code().message();
  } catch (const NodeGone& error) {
    problem = error.what();
  }
  throw NodeGone("node '" + target.node + "' cannot be reached: " + problem);
}

awaitable<void> write_all(HttpStream& stream, std::string text, Deadline deadline) {
  asio::const_buffer rest = asio::buffer(text);
  while (rest.size() > 0) {
    stream.tcp().expires_at(deadline);
    rest += co_await stream.async_write_some(rest, use_awaitable);
  }
}

}  // namespace campipe
