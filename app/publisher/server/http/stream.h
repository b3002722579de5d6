// A connection with or without TLS as one type, so that what is built on it is compiled once. Only for the files that
// use Boost.Beast, which compiles slowly.
#pragma once

#include <utility>  // before asio, whose headers of this age forget it

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>

#include <optional>

namespace campipe {

class HttpStream {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;
  using ErrorCode = boost::system::error_code;

  // `tls`: null for none.
  HttpStream(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls) : tcp_(std::move(socket)) {
    if (tls != nullptr) tls_.emplace(tcp_, *tls);
  }
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  executor_type get_executor() { return tcp_.get_executor(); }
  // For deadlines; they are of everything that is begun afterwards.
  boost::beast::tcp_stream& tcp() { return tcp_; }
  [[nodiscard]] bool has_tls() const { return tls_.has_value(); }

  boost::asio::awaitable<void> handshake() {
    if (tls_) co_await tls_->async_handshake(boost::asio::ssl::stream_base::server, boost::asio::use_awaitable);
  }
  // Says that there is no more; of TLS too, as far as the other side listens.
  boost::asio::awaitable<void> say_end() {
    ErrorCode ignored;  // the connection is over either way
    if (tls_) co_await tls_->async_shutdown(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
    tcp_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  }

  // What Beast and asio ask of a stream.
  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    const auto start = [this](auto&& handler, const Buffers& into) {
      if (tls_)
        tls_->async_read_some(into, std::forward<decltype(handler)>(handler));
      else
        tcp_.async_read_some(into, std::forward<decltype(handler)>(handler));
    };
    return boost::asio::async_initiate<Token, void(ErrorCode, std::size_t)>(start, token, buffers);
  }
  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    const auto start = [this](auto&& handler, const Buffers& from) {
      if (tls_)
        tls_->async_write_some(from, std::forward<decltype(handler)>(handler));
      else
        tcp_.async_write_some(from, std::forward<decltype(handler)>(handler));
    };
    return boost::asio::async_initiate<Token, void(ErrorCode, std::size_t)>(start, token, buffers);
  }

  // After WebSocket's own farewell, which needs no other.
  friend void teardown(boost::beast::role_type role, HttpStream& stream, ErrorCode& error) {
    using boost::beast::websocket::teardown;
    teardown(role, stream.tcp_.socket(), error);
  }
  template <typename Handler>
  friend void async_teardown(boost::beast::role_type role, HttpStream& stream, Handler&& handler) {
    using boost::beast::websocket::async_teardown;
    async_teardown(role, stream.tcp_.socket(), std::forward<Handler>(handler));
  }

 private:
  boost::beast::tcp_stream tcp_;
  std::optional<boost::beast::ssl_stream<boost::beast::tcp_stream&>> tls_;
};

inline void beast_close_socket(HttpStream& stream) { stream.tcp().close(); }

}  // namespace campipe
