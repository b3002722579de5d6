// A live stream of a camera on another node, as that node's own answer to GET /live has it. Of the serving thread. Only
// for the files that use Boost.Beast.
#pragma once

#include "app/publisher/server/http/connection.h"  // first of those with asio

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/publisher/server/http/event.h"
#include "app/publisher/server/live/feed.h"

namespace campipe {

class NodeStream : public std::enable_shared_from_this<NodeStream> {
 public:
  // `exchange`: on whose behalf it is watched. `stream`: "gate" or "gate/small". `ready`: called when next() may have
  // something, or over() is true.
  NodeStream(std::shared_ptr<HttpConnection> connection, std::shared_ptr<const HttpConnection::Exchange> exchange,
             std::string node, std::string stream, std::function<void()> ready);

  // Once. It keeps itself alive until it is over.
  void start();
  // As the node has sent it; false: there is none now. No more is read before it is taken: who is slow is slow there.
  bool next(LiveMessage& message);
  void close();
  [[nodiscard]] const std::string& node() const { return node_; }
  [[nodiscard]] bool over() const { return over_; }
  // Why it is over.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  boost::asio::awaitable<void> run();
  boost::asio::awaitable<void> read();
  boost::asio::awaitable<void> fill(HttpStream& link, std::string& bytes, std::size_t size);

  const std::shared_ptr<HttpConnection> connection_;
  const std::shared_ptr<const HttpConnection::Exchange> exchange_;
  const std::string node_;
  const std::string stream_;
  const std::function<void()> ready_;
  const std::shared_ptr<HttpEvent> taken_;
  std::unique_ptr<HttpStream> link_;  // null: not connected yet
  std::optional<LiveMessage> waiting_;
  std::string problem_;
  bool closed_ = false;
  bool over_ = false;
};

}  // namespace campipe
