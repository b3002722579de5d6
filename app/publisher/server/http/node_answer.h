// What another node answers to a request that goes on to there: what is asked is written anew, with the headers that
// matter and no others. Only for the files that use Boost.Beast.
#pragma once

#include "app/publisher/server/http/connection.h"  // first of those with asio

#include <boost/beast/http/message.hpp>

#include <memory>
#include <string>

#include "app/publisher/server/nodes/link.h"

namespace campipe {

// Instead of what the client has asked for, for whom it is all the same.
struct NodeRequest {
  std::string target;
  unsigned version = 11;  // 10: HTTP/1.0, whose answers come without chunks
};

// Of which the head has come.
struct NodeAnswer {
  std::unique_ptr<HttpStream> link;
  boost::beast::http::response_header<> head;
  std::string unread;  // what came behind it
};

// On behalf of the sender of `exchange`. Throws NodeGone, which names the node.
boost::asio::awaitable<NodeAnswer> ask_node(HttpShared& shared, const NodeTarget& node,
                                            const HttpConnection::Exchange& exchange, NodeRequest request);

}  // namespace campipe
