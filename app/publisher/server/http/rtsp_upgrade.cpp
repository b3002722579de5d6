// RTSP over a connection of HTTP, at the door of a node: another node passes a client on, whom it has let in.
#include "app/publisher/server/http/connection.h"  // first of those with asio

#include <boost/asio/ip/tcp.hpp>

#include "app/publisher/server/http/tunnel.h"

namespace campipe {

using boost::asio::awaitable;
using boost::asio::ip::tcp;

awaitable<void> serve_rtsp(std::shared_ptr<HttpConnection> connection, HttpConnection::Exchange& exchange) {
  exchange.keep_alive = false;
  const auto& open = connection->shared().cluster.open_rtsp;
  const HttpRequest& request = exchange.passed.request;
  UniqueFd fd = open ? open(request.identity, request.address) : UniqueFd();
  if (!fd) {
    HttpAnswer refusal = http_error(503, "this node does not serve RTSP now");
    co_await connection->send(refusal, exchange);
    co_return;
  }
  tcp::socket socket(*connection->shared().io, tcp::v4(), fd.get());
  static_cast<void>(fd.release());
  auto link = std::make_unique<HttpStream>(std::move(socket), nullptr);
  const auto tunnel = std::make_shared<Tunnel>(connection, std::move(link), std::nullopt);
  std::string head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: rtsp\r\n\r\n";
  co_await tunnel->run(std::move(head), true);
}

}  // namespace campipe
