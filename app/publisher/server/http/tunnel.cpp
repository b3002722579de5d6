#include "app/publisher/server/http/tunnel.h"

#include <boost/asio/detached.hpp>

#include <array>
#include <exception>
#include <utility>

#include "app/publisher/server/nodes/link.h"

namespace campipe {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::redirect_error;
using asio::use_awaitable;

constexpr std::size_t at_once = 64 * 1024;
constexpr auto try_to_stop_again = std::chrono::milliseconds(100);

}  // namespace

Tunnel::Tunnel(std::shared_ptr<HttpConnection> connection, std::unique_ptr<HttpStream> link,
               std::optional<std::chrono::milliseconds> silence)
    : connection_(std::move(connection)),
      link_(std::move(link)),
      silence_(silence),
      client_ended_(std::make_shared<HttpEvent>(connection_->shared().io)) {}

// What the client sends, or that it is gone, which ends all. Behind the end of a request that goes one way there may be
// another one, which this connection does not answer any more.
awaitable<void> Tunnel::listen() {
  HttpStream& client = connection_->stream();
  std::array<char, at_once> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): it is read into
  try {
    for (;;) {
      client.tcp().expires_never();
      const std::size_t size = co_await client.async_read_some(asio::buffer(chunk), use_awaitable);
      if (!both_ways_) continue;
      std::string text(chunk.data(), size);
      co_await write_all(*link_, std::move(text), Clock::now() + connection_->shared().limits.send);
    }
  } catch (const boost::system::system_error&) {
    link_->tcp().close();  // speak() ends with it
  }
  is_listening_ = false;
  client_ended_->wake();
}

awaitable<void> Tunnel::speak() {
  std::array<char, at_once> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): it is read into
  HttpStream::ErrorCode error;
  while (!error) {
    if (silence_)
      link_->tcp().expires_after(*silence_);
    else
      link_->tcp().expires_never();
    const std::size_t size = co_await link_->async_read_some(asio::buffer(chunk), redirect_error(use_awaitable, error));
    if (size > 0) co_await connection_->send_bytes(asio::buffer(chunk.data(), size));
  }
}

awaitable<void> Tunnel::stop_listening() {
  while (is_listening_) {
    connection_->stream().tcp().cancel();
    co_await client_ended_->wait_until(Clock::now() + try_to_stop_again);
  }
}

awaitable<void> Tunnel::run(std::string first, bool both_ways) {
  keep_queue_short(connection_->stream(), connection_->shared().limits.send);
  both_ways_ = both_ways;
  is_listening_ = true;
  asio::co_spawn(
      *connection_->shared().io, [self = shared_from_this()] { return self->listen(); }, asio::detached);
  std::exception_ptr failure;
  try {
    co_await connection_->send_bytes(asio::buffer(first));
    co_await speak();
  } catch (const boost::system::system_error&) {
    failure = std::current_exception();
  }
  link_->tcp().close();
  co_await stop_listening();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace campipe
