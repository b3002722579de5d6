// A stream of events (text/event-stream), each of which is made when the one before is on its way: a client that reads
// slowly gets fewer, and nothing piles up for it.
#include "app/publisher/server/http/endless.h"  // first of those with asio

#include "app/publisher/server/http/compression.h"
#include "app/publisher/server/http/event.h"

namespace campipe {
namespace {

using boost::asio::awaitable;

constexpr auto period = std::chrono::seconds(2);

}  // namespace

awaitable<void> serve_events(std::shared_ptr<HttpConnection> connection, HttpConnection::Exchange& exchange,
                             HttpAnswer::Events events) {
  HttpShared& shared = connection->shared();
  const HttpRequest& request = exchange.passed.request;
  HttpAnswer head;
  head.type = "text/event-stream";
  name_encoding(head, request.takes_gzip);
  if (co_await send_head_alone(*connection, exchange, head)) co_return;
  std::optional<GzipStream> gzip;
  if (request.takes_gzip) gzip.emplace();
  const std::function<std::optional<std::string>()> make = [&] {
    auto next = events();
    if (next && gzip) next = gzip->add(*next);
    return next;
  };
  EndlessAnswer answer(*connection, exchange);
  const auto woken = std::make_shared<HttpEvent>(shared.io);
  co_await answer.begin(head);
  Clock::time_point next_at;
  while (!answer.is_gone() && shared.gate.still_may(exchange.passed)) {
    if (Clock::now() < next_at) {
      co_await woken->wait_until(std::min(next_at, Clock::now() + look_every));
      continue;
    }
    next_at = Clock::now() + period;
    const auto made = co_await shared.threads.handle(request.identity, connection->holder(), make);
    if (!made) continue;  // the next one has its changes
    if (!*made) break;
    co_await answer.put(boost::asio::buffer(**made));
  }
  co_await answer.end();
}

}  // namespace campipe
