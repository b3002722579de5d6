// A request whose answer is another node's. The answer's head is written anew, and all that follows goes through as it
// comes.
#include "app/publisher/server/http/connection.h"  // first of those with asio

#include <boost/beast/http/write.hpp>

#include <sstream>

#include "app/publisher/server/http/node_answer.h"
#include "app/publisher/server/http/tunnel.h"

namespace campipe {
namespace {

namespace http = boost::beast::http;
using boost::asio::awaitable;
using Exchange = HttpConnection::Exchange;

constexpr auto tunnel_silence = std::chrono::seconds(75);  // a live stream pings after 30, and ends after 60

// What is about the connection between the nodes stays there, and another node's cookies are none of this one.
std::string head_for_client(http::response_header<> head, unsigned version) {
  const bool has_switched = head.result_int() == 101;
  head.version(version);
  for (const auto field :
       {http::field::keep_alive, http::field::proxy_connection, http::field::set_cookie, http::field::trailer})
    head.erase(field);
  head.set(http::field::connection, has_switched ? "Upgrade" : "close");
  std::ostringstream text;
  text << head;
  return text.str();
}

}  // namespace

awaitable<void> serve_relay(std::shared_ptr<HttpConnection> connection, Exchange& exchange, std::string node) {
  exchange.keep_alive = false;
  const NodeRequest asked{exchange.facts.target, exchange.message.version()};
  HttpShared& shared = connection->shared();
  HttpAnswer refusal;
  std::optional<NodeTarget> target;
  NodeAnswer answer;
  try {
    if (node.empty()) throw NodeGone("no node runs this camera");
    target = shared.cluster.nodes->target_of(node);
  } catch (const NodeGone& error) {
    refusal = http_busy(error.what(), 2);
  }
  try {
    if (target) answer = co_await ask_node(shared, *target, exchange, asked);
  } catch (const NodeGone& error) {
    refusal = http_error(502, error.what());
  }
  if (!answer.link) {
    co_await connection->send(refusal, exchange);
    co_return;
  }
  const auto tunnel = std::make_shared<Tunnel>(connection, std::move(answer.link), tunnel_silence);
  const bool has_switched = answer.head.result_int() == 101;
  co_await tunnel->run(head_for_client(std::move(answer.head), asked.version) + answer.unread, has_switched);
}

}  // namespace campipe
