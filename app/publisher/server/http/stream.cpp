#include "app/publisher/server/http/stream.h"

#include <netinet/tcp.h>

namespace campipe {

namespace asio = boost::asio;
using asio::awaitable;

HttpStream::HttpStream(asio::ip::tcp::socket socket, asio::ssl::context* tls) : tcp_(std::move(socket)) {
  if (tls != nullptr) tls_.emplace(tcp_, *tls);
}

HttpStream::~HttpStream() = default;

awaitable<void> HttpStream::handshake() {
  if (tls_) co_await tls_->async_handshake(asio::ssl::stream_base::server, asio::use_awaitable);
}

awaitable<void> HttpStream::handshake_as_client() {
  if (tls_) co_await tls_->async_handshake(asio::ssl::stream_base::client, asio::use_awaitable);
}

awaitable<void> HttpStream::send_end() {
  ErrorCode ignored;  // the connection is over either way
  if (tls_) co_await tls_->async_shutdown(asio::redirect_error(asio::use_awaitable, ignored));
  tcp_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

void HttpStream::read_some(const FirstBuffers<asio::mutable_buffer>& into, AnyHandler<ErrorCode, std::size_t> handler) {
  if (tls_)
    tls_->async_read_some(into, std::move(handler));
  else
    tcp_.async_read_some(into, std::move(handler));
}

void HttpStream::write_some(const FirstBuffers<asio::const_buffer>& from, AnyHandler<ErrorCode, std::size_t> handler) {
  if (tls_)
    tls_->async_write_some(from, std::move(handler));
  else
    tcp_.async_write_some(from, std::move(handler));
}

void teardown(boost::beast::role_type role, HttpStream& stream, HttpStream::ErrorCode& error) {
  boost::beast::websocket::teardown(role, stream.tcp_.socket(), error);
}

void keep_queue_short(HttpStream& stream, std::chrono::milliseconds patience) {
  constexpr int unsent_bytes = 128 * 1024;
  const int socket = stream.tcp().socket().native_handle();
  ::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes, sizeof unsent_bytes);
  const auto longest = static_cast<unsigned>(patience.count());
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &longest, sizeof longest);
}

void HttpStream::begin_teardown(boost::beast::role_type role, AnyHandler<ErrorCode> handler) {
  boost::beast::websocket::async_teardown(role, tcp_.socket(), std::move(handler));
}

}  // namespace campipe
