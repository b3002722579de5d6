#include "app/publisher/server/http/endless.h"

#include <poll.h>

#include <boost/beast/core/buffers_suffix.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/write.hpp>

#include <array>
#include <sstream>

#include <fmt/format.h>

namespace campipe {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::awaitable;
using asio::use_awaitable;

awaitable<bool> send_head_alone(HttpConnection& connection, HttpConnection::Exchange& exchange,
                                const HttpAnswer& head) {
  if (exchange.facts.method != "HEAD") co_return false;
  co_await EndlessAnswer(connection, exchange).begin(head);
  co_return true;
}

EndlessAnswer::EndlessAnswer(HttpConnection& connection, HttpConnection::Exchange& exchange)
    : connection_(connection), exchange_(exchange), chunked_(exchange.message.version() >= 11) {}

awaitable<void> EndlessAnswer::begin(const HttpAnswer& answer) {
  exchange_.keep_alive = false;
  keep_queue_short(connection_.stream(), connection_.shared().limits.send);
  http::response<http::empty_body> response(http::int_to_status(static_cast<unsigned>(answer.status)),
                                            exchange_.message.version());
  set_headers(response, answer);
  response.set("X-Accel-Buffering", "no");  // nginx would wait for more
  response.keep_alive(false);
  if (chunked_) response.chunked(true);
  std::ostringstream head;
  head << response.base();
  const std::string text = head.str();
  co_await connection_.send_bytes(asio::buffer(text));
}

awaitable<void> EndlessAnswer::put(asio::const_buffer bytes) {
  if (!chunked_) {
    co_await connection_.send_bytes(bytes);
    co_return;
  }
  const std::string size = fmt::format("{:x}\r\n", bytes.size());
  const std::array<asio::const_buffer, 3> chunk{asio::buffer(size), bytes, asio::const_buffer("\r\n", 2)};
  boost::beast::buffers_suffix rest(chunk);
  while (asio::buffer_size(rest) > 0) {
    connection_.stream().tcp().expires_after(connection_.shared().limits.send);
    const std::size_t sent = co_await connection_.stream().async_write_some(rest, use_awaitable);
    rest.consume(sent);
  }
}

awaitable<void> EndlessAnswer::end() {
  if (chunked_) co_await connection_.send_bytes(asio::const_buffer("0\r\n\r\n", 5));
}

bool EndlessAnswer::is_gone() {
  // Not by reading: what it has sent, such as the end of its TLS, may stand before that.
  pollfd end{connection_.stream().tcp().socket().native_handle(), POLLRDHUP, 0};
  return connection_.closed() || ::poll(&end, 1, 0) > 0;
}

}  // namespace campipe
