#include "app/publisher/server/http/node_answer.h"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <array>

namespace campipe {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::awaitable;
using asio::use_awaitable;
using Exchange = HttpConnection::Exchange;

constexpr std::uint32_t longest_head = 16 * 1024;

// No credentials, nothing about this connection, and nothing that the client says of itself to nodes.
std::string request_for(const NodeTarget& node, const Exchange& exchange, const NodeRequest& request, bool has_users) {
  const HttpMessage& message = exchange.message;
  const HttpRequest& asked = exchange.passed.request;
  std::vector<HeaderLine> headers{{"Host", node.address}, header_for(asked.identity, has_users)};
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
  return request_head(exchange.facts.method, request.target, request.version, headers) + asked.body;
}

awaitable<void> read_head(NodeAnswer& answer, bool may_switch, Deadline deadline) {
  http::response_parser<http::empty_body> parser;
  parser.header_limit(longest_head);
  parser.skip(true);
  std::array<char, 4096> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): it is read into
  while (!parser.is_header_done()) {
    answer.link->tcp().expires_at(deadline);
    const std::size_t size = co_await answer.link->async_read_some(asio::buffer(chunk), use_awaitable);
    answer.unread.append(chunk.data(), size);
    boost::system::error_code error;
    answer.unread.erase(0, parser.put(asio::const_buffer(answer.unread.data(), answer.unread.size()), error));
    if ((error && error != http::error::need_more) || answer.unread.size() > longest_head)
      throw NodeGone("sends what is not HTTP");
  }
  answer.head = parser.get().base();
  const unsigned status = answer.head.result_int();
  if (status < 200 && !(status == 101 && may_switch)) throw NodeGone("sends what was not asked for");
}

std::string reason_of(const boost::system::system_error& error) {
  const bool is_late = error.code() == boost::beast::error::timeout;
  return is_late ? "does not answer in time" : "gives no answer: " + error.code().message();
}

}  // namespace

awaitable<NodeAnswer> ask_node(HttpShared& shared, const NodeTarget& node, const Exchange& exchange,
                               NodeRequest request) {
  NodeAnswer answer;
  std::string problem;
  answer.link = co_await connect_to(node, Clock::now() + connect_patience);
  try {
    const Deadline deadline = Clock::now() + shared.limits.relay;
    std::string text = request_for(node, exchange, request, shared.gate.has_users());
    co_await write_all(*answer.link, std::move(text), deadline);
    co_await read_head(answer, exchange.facts.upgrade, deadline);
    co_return answer;
  } catch (const boost::system::system_error& error) {
    problem = reason_of(error);
  } catch (const NodeGone& error) {
    problem = error.what();
  }
  throw NodeGone("node '" + node.node + "' " + problem);
}

}  // namespace campipe
