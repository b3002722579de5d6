// Live video of many streams in one answer, for pages to which no WebSocket comes through: a browser has few
// connections to a host. docs/api.md has its form.
#include <array>
#include <deque>

#include "app/publisher/server/http/endless.h"  // first of those with asio
#include "app/publisher/server/http/event.h"
#include "app/publisher/server/http/live_place.h"
#include "app/publisher/server/live/feed.h"

namespace campipe {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using Exchange = HttpConnection::Exchange;

constexpr auto beat_after = std::chrono::seconds(5);  // of silence
constexpr std::size_t part_size = 64 * 1024;          // what waits there cannot be dropped any more

constexpr const char* form = "application/octet-stream";

enum class Kind : std::uint8_t { beat, text, bytes };

void append_number(std::string& to, std::size_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    to += static_cast<char>(value >> static_cast<unsigned>(shift));
}

void append_head(std::string& to, Kind kind, std::size_t stream, std::size_t size) {
  append_number(to, static_cast<std::size_t>(kind), 2);
  append_number(to, stream, 2);
  append_number(to, size, 4);
}

// One of the streams. It is looked for again and again: a camera may come, and a user may be given it.
class Watched {
 public:
  Watched(HttpShared& shared, const Exchange& exchange, const std::string& stream, std::function<void()> ready)
      : shared_(shared),
        address_(exchange.facts.address),
        identity_(exchange.passed.request.identity),
        place_(live_place(stream)),
        ready_(std::move(ready)) {}

  // As LiveFeed::look().
  void look() {
    const std::string reason = why_not();
    if (!reason.empty()) {
      feed_.reset();
      if (reason != refused_) waiting_ = nlohmann::json{{"type", "unplayable"}, {"reason", reason}}.dump();
    } else {
      if (!feed_) feed_.emplace(shared_.rig, place_.camera, place_.stream, count(), ready_);
      feed_->look();
    }
    refused_ = reason;
  }

  // False: there is none now.
  bool next(LiveMessage& message) {
    message = {std::exchange(waiting_, {}), nullptr};
    return !message.text.empty() || (feed_ && feed_->next(message) == LiveFeed::Next::message);
  }

 private:
  [[nodiscard]] std::string why_not() const {
    if (!shared_.gate.may_view(identity_, place_.camera)) return no_such_stream;
    const auto refusal = refuse_place(shared_.rig, shared_.cluster.nodes, place_);
    return refusal ? refusal->reason : "";
  }
  [[nodiscard]] std::shared_ptr<HttpViewer> count() const {
    return shared_.viewers.add(place_.stream, address_, identity_.user, "fmp4");
  }

  HttpShared& shared_;
  const std::string address_;
  const Identity identity_;
  const LivePlace place_;
  const std::function<void()> ready_;
  std::optional<LiveFeed> feed_;  // nothing: it is refused
  std::string refused_;           // why; empty: it is not
  std::string waiting_;           // a message before those of the feed
};

class ManyStreams {
 public:
  ManyStreams(std::shared_ptr<HttpConnection> connection, Exchange& exchange, const std::vector<std::string>& streams)
      : connection_(std::move(connection)),
        exchange_(exchange),
        answer_(*connection_, exchange),
        event_(std::make_shared<HttpEvent>(connection_->shared().io)) {
    for (const std::string& stream : streams)
      streams_.emplace_back(connection_->shared(), exchange, stream, event_->waker());
  }

  awaitable<void> run() {
    HttpAnswer head;
    head.type = form;
    co_await answer_.begin(head);
    Clock::time_point look_at;
    Clock::time_point beat_at = Clock::now() + beat_after;
    std::string part;
    while (!answer_.is_gone() && connection_->shared().gate.still_may(exchange_.passed)) {
      if (Clock::now() >= look_at) {
        look_at = Clock::now() + look_every;
        for (Watched& stream : streams_) stream.look();
      }
      collect(part);
      if (part.empty() && Clock::now() >= beat_at) append_head(part, Kind::beat, 0, 0);
      if (part.empty()) {
        co_await event_->wait_until(std::min(look_at, beat_at));
        continue;
      }
      co_await answer_.put(asio::buffer(part));
      part.clear();
      beat_at = Clock::now() + beat_after;
    }
    co_await answer_.end();
  }

 private:
  // What is there, a message of each stream in turn.
  void collect(std::string& part) {
    for (std::size_t silent = 0; silent < streams_.size() && part.size() < part_size; ++turn_) {
      const std::size_t stream = turn_ % streams_.size();
      LiveMessage message;
      if (!streams_[stream].next(message)) {
        ++silent;
        continue;
      }
      silent = 0;
      const bool is_text = message.bytes == nullptr;
      append_head(part, is_text ? Kind::text : Kind::bytes, stream,
                  is_text ? message.text.size() : message.bytes->size());
      if (is_text)
        part += message.text;
      else
        part.append(message.bytes->begin(), message.bytes->end());
    }
  }

  const std::shared_ptr<HttpConnection> connection_;
  Exchange& exchange_;
  EndlessAnswer answer_;
  const std::shared_ptr<HttpEvent> event_;
  std::deque<Watched> streams_;  // which do not move
  std::size_t turn_ = 0;
};

}  // namespace

awaitable<void> serve_many(std::shared_ptr<HttpConnection> connection, Exchange& exchange,
                           std::vector<std::string> streams) {
  if (exchange.facts.method == "HEAD") {
    HttpAnswer head;
    head.type = form;
    co_await connection->send(head, exchange);
    co_return;
  }
  ManyStreams many(std::move(connection), exchange, streams);
  co_await many.run();
}

}  // namespace campipe
