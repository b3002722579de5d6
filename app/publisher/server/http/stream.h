// A connection with or without TLS as one type, so that what is built on it is compiled once; and what it is built on
// is compiled in stream.cpp. Only for the files that use Boost.Beast, which compiles slowly.
#pragma once

#include "app/publisher/server/http/any_handler.h"  // first of those with asio

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>

#include <array>
#include <optional>

namespace campipe {

// The first of a sequence of buffers, whatever it is made of: who reads or writes "some" need not do it all.
template <typename Buffer>
class FirstBuffers {
 public:
  using value_type = Buffer;

  template <typename Sequence>
  explicit FirstBuffers(const Sequence& all) {
    const auto end = boost::asio::buffer_sequence_end(all);
    for (auto at = boost::asio::buffer_sequence_begin(all); at != end && size_ < buffers_.size(); ++at) {
      const Buffer buffer(*at);
      if (buffer.size() > 0) buffers_[size_++] = buffer;
    }
  }

  [[nodiscard]] const Buffer* begin() const { return buffers_.data(); }
  [[nodiscard]] const Buffer* end() const { return buffers_.data() + size_; }

 private:
  std::array<Buffer, 16> buffers_;
  std::size_t size_ = 0;
};

class HttpStream {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;
  using ErrorCode = boost::system::error_code;

  // `tls`: null for none.
  HttpStream(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls);
  ~HttpStream();
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  executor_type get_executor() { return tcp_.get_executor(); }
  // For deadlines; they are of everything that is begun afterwards.
  boost::beast::tcp_stream& tcp() { return tcp_; }
  [[nodiscard]] bool has_tls() const { return tls_.has_value(); }

  boost::asio::awaitable<void> handshake();
  // As the side that has connected.
  boost::asio::awaitable<void> handshake_as_client();
  [[nodiscard]] SSL* tls_handle() { return tls_ ? tls_->native_handle() : nullptr; }  // null: none
  // Says that there is no more; of TLS too, as far as the other side listens.
  boost::asio::awaitable<void> send_end();

  // What Beast and asio ask of a stream.
  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    const auto start = [this](auto&& handler, const FirstBuffers<boost::asio::mutable_buffer>& into) {
      read_some(into, {std::forward<decltype(handler)>(handler), get_executor()});
    };
    return boost::asio::async_initiate<Token, void(ErrorCode, std::size_t)>(
        start, token, FirstBuffers<boost::asio::mutable_buffer>(buffers));
  }
  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    const auto start = [this](auto&& handler, const FirstBuffers<boost::asio::const_buffer>& from) {
      write_some(from, {std::forward<decltype(handler)>(handler), get_executor()});
    };
    return boost::asio::async_initiate<Token, void(ErrorCode, std::size_t)>(
        start, token, FirstBuffers<boost::asio::const_buffer>(buffers));
  }

  // After WebSocket's own farewell, which needs no other.
  friend void teardown(boost::beast::role_type role, HttpStream& stream, ErrorCode& error);
  template <typename Handler>
  friend void async_teardown(boost::beast::role_type role, HttpStream& stream, Handler&& handler) {
    stream.begin_teardown(role, {std::forward<Handler>(handler), stream.get_executor()});
  }

 private:
  void read_some(const FirstBuffers<boost::asio::mutable_buffer>& into, AnyHandler<ErrorCode, std::size_t> handler);
  void write_some(const FirstBuffers<boost::asio::const_buffer>& from, AnyHandler<ErrorCode, std::size_t> handler);
  void begin_teardown(boost::beast::role_type role, AnyHandler<ErrorCode> handler);

  boost::beast::tcp_stream tcp_;
  std::optional<boost::beast::ssl_stream<boost::beast::tcp_stream&>> tls_;
};

void teardown(boost::beast::role_type role, HttpStream& stream, HttpStream::ErrorCode& error);

// What lies in the kernel cannot be dropped any more when a viewer is slow, so little does. One who takes nothing of it
// for `patience` is disconnected: where little is sent, it takes long until there is no room for more.
void keep_queue_short(HttpStream& stream, std::chrono::milliseconds patience);

inline void beast_close_socket(HttpStream& stream) { stream.tcp().close(); }

}  // namespace campipe
