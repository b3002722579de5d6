// Bytes of a connection that go through to another one as they come, both ways, until either ends. What is read from
// one is sent to the other before more is read: neither can fill this process. Only for the files that use Boost.Beast.
#pragma once

#include "app/publisher/server/http/connection.h"  // first of those with asio

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "app/publisher/server/http/event.h"

namespace campipe {

class Tunnel : public std::enable_shared_from_this<Tunnel> {
 public:
  // `link`: the other one. `silence`: of it, after which both end; nothing: it may be silent for ever.
  Tunnel(std::shared_ptr<HttpConnection> connection, std::unique_ptr<HttpStream> link,
         std::optional<std::chrono::milliseconds> silence);

  // `first`: goes to the client before all else. `both_ways`: else what the client sends goes nowhere, but that it is
  // gone ends all. Throws what ended the client.
  boost::asio::awaitable<void> run(std::string first, bool both_ways);

 private:
  boost::asio::awaitable<void> listen();
  boost::asio::awaitable<void> speak();
  boost::asio::awaitable<void> stop_listening();

  const std::shared_ptr<HttpConnection> connection_;
  const std::unique_ptr<HttpStream> link_;
  const std::optional<std::chrono::milliseconds> silence_;
  const std::shared_ptr<HttpEvent> client_ended_;
  bool is_listening_ = false;
  bool both_ways_ = false;
};

}  // namespace campipe
