// A request whose answer is another node's. What is asked is written anew, with the headers that matter and no others;
// the answer's head is read and written anew, and all that follows goes through as it comes.
#include "app/publisher/server/http/connection.h"  // first of those with asio

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/write.hpp>

#include <array>
#include <sstream>

#include "app/publisher/server/http/tunnel.h"
#include "app/publisher/server/nodes/link.h"

namespace campipe {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::awaitable;
using asio::use_awaitable;
using Exchange = HttpConnection::Exchange;

constexpr auto tunnel_silence = std::chrono::seconds(75);  // a live stream pings after 30, and ends after 60
constexpr std::uint32_t longest_head = 16 * 1024;

// No credentials, nothing about this connection, and nothing that the client says of itself to nodes.
std::string request_for(const NodeTarget& target, const Exchange& exchange, bool has_users) {
  const HttpMessage& message = exchange.message;
  const HttpRequest& asked = exchange.passed.request;
  std::vector<HeaderLine> headers{{"Host", target.address}, header_for(asked.identity, has_users)};
  if (is_address(asked.address)) headers.emplace_back("X-Forwarded-For", asked.address);
  const auto pass_on = [&](http::field field) {
    if (!message[field].empty()) headers.emplace_back(text_of(http::to_string(field)), text_of(message[field]));
  };
  for (const auto field : {http::field::accept, http::field::content_type, http::field::range, http::field::if_range,
                           http::field::if_none_match})
    pass_on(field);
  if (exchange.facts.upgrade) {
    headers.insert(headers.end(), {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}});
    for (const auto field : {http::field::sec_websocket_key, http::field::sec_websocket_version}) pass_on(field);
  } else {
    headers.emplace_back("Connection", "close");
  }
  if (!asked.body.empty()) headers.emplace_back("Content-Length", std::to_string(asked.body.size()));
  return request_head(exchange.facts.method, exchange.facts.target, message.version(), headers) + asked.body;
}

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

struct NodeAnswer {
  std::string begin;  // for the client: its head, and what came behind it
  bool has_switched = false;
};

awaitable<NodeAnswer> read_answer(HttpStream& link, const Exchange& exchange, Deadline deadline) {
  http::response_parser<http::empty_body> parser;
  parser.header_limit(longest_head);
  parser.skip(true);
  std::string unread;
  std::array<char, 4096> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): it is read into
  while (!parser.is_header_done()) {
    link.tcp().expires_at(deadline);
    const std::size_t size = co_await link.async_read_some(asio::buffer(chunk), use_awaitable);
    unread.append(chunk.data(), size);
    boost::system::error_code error;
    unread.erase(0, parser.put(asio::const_buffer(unread.data(), unread.size()), error));
    if ((error && error != http::error::need_more) || unread.size() > longest_head)
      throw NodeGone("sends what is not HTTP");
  }
  const auto& head = parser.get().base();
  const bool has_switched = head.result_int() == 101;
  if (head.result_int() < 200 && !(has_switched && exchange.facts.upgrade))
    throw NodeGone("sends what was not asked for");
  co_return NodeAnswer{head_for_client(head, exchange.message.version()) + unread, has_switched};
}

std::string reason_of(const boost::system::system_error& error) {
  const bool is_late = error.code() == boost::beast::error::timeout;
  return is_late ? "does not answer in time" : "gives no answer: " + error.code().message();
}

struct Opened {
  std::unique_ptr<HttpStream> link;
  NodeAnswer answer;
};

// Throws NodeGone.
awaitable<Opened> open(const NodeTarget& target, const Exchange& exchange, const HttpShared& shared) {
  Opened opened;
  std::string problem;
  opened.link = co_await connect_to(target, Clock::now() + connect_patience);
  try {
    const Deadline deadline = Clock::now() + shared.limits.relay;
    std::string request = request_for(target, exchange, shared.gate.has_users());
    co_await write_all(*opened.link, std::move(request), deadline);
    opened.answer = co_await read_answer(*opened.link, exchange, deadline);
    co_return opened;
  } catch (const boost::system::system_error& error) {
    problem = reason_of(error);
  } catch (const NodeGone& error) {
    problem = error.what();
  }
  throw NodeGone("node '" + target.node + "' " + problem);
}

}  // namespace

awaitable<void> serve_relay(std::shared_ptr<HttpConnection> connection, Exchange& exchange, std::string node) {
  exchange.keep_alive = false;
  HttpShared& shared = connection->shared();
  HttpAnswer refusal;
  std::optional<NodeTarget> target;
  Opened opened;
  try {
    if (node.empty()) throw NodeGone("no node runs this camera");
    target = shared.cluster.nodes->target_of(node);
  } catch (const NodeGone& error) {
    refusal = http_busy(error.what(), 2);
  }
  try {
    if (target) opened = co_await open(*target, exchange, shared);
  } catch (const NodeGone& error) {
    refusal = http_error(502, error.what());
  }
  if (!opened.link) {
    co_await connection->send(refusal, exchange);
    co_return;
  }
  const auto tunnel = std::make_shared<Tunnel>(connection, std::move(opened.link), tunnel_silence);
  co_await tunnel->run(std::move(opened.answer.begin), opened.answer.has_switched);
}

}  // namespace campipe
