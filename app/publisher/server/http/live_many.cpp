// Live video of many streams in one answer, for pages to which no WebSocket comes through: a browser has few
// connections to a host. docs/api.md has its form.
#include <deque>

#include "app/publisher/server/http/endless.h"  // first of those with asio

#include "app/publisher/server/api/request.h"
#include "app/publisher/server/http/event.h"
#include "app/publisher/server/http/live_messages.h"
#include "app/publisher/server/http/live_place.h"
#include "app/publisher/server/http/node_stream.h"
#include "app/publisher/server/live/feed.h"

namespace campipe {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using Exchange = HttpConnection::Exchange;

constexpr auto try_node_again = std::chrono::seconds(2);
constexpr auto beat_after = std::chrono::seconds(5);  // of silence
constexpr std::size_t part_size = 64 * 1024;          // what waits there cannot be dropped any more

constexpr const char* form = "application/octet-stream";

// One of the streams, here or on another node. It is looked for again and again: a camera may come or move, and a user
// may be given it.
class Watched {
 public:
  Watched(std::shared_ptr<HttpConnection> connection, std::shared_ptr<const Exchange> exchange, const std::string& name,
          std::function<void()> ready)
      : connection_(std::move(connection)),
        exchange_(std::move(exchange)),
        name_(name),
        place_(live_place(name)),
        ready_(std::move(ready)) {}
  ~Watched() { drop_node(); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // As LiveFeed::look().
  void look() {
    const HttpRequest& request = exchange_->passed.request;
    const Nodes* const nodes = request.from_node ? nullptr : shared().cluster.nodes;
    const auto node = nodes != nullptr ? nodes->places()->elsewhere(place_.camera) : std::nullopt;
    if (!shared().gate.may_view(request.identity, place_.camera))
      refuse(no_such_stream);
    else if (node)
      look_at(*node);
    else
      look_here();
  }

  // False: there is none now.
  bool next(LiveMessage& message) {
    message = {std::exchange(refusal_, {}), nullptr};
    if (!message.text.empty()) return true;
    if (feed_) return feed_->next(message) == LiveFeed::Next::message;
    if (!node_ || !node_->next(message)) return false;
    refused_.clear();
    return true;
  }

 private:
  void look_here() {
    drop_node();
    HttpShared& all = shared();
    if (const auto missing = refuse_place(all.rig, all.cluster.nodes, place_)) return refuse(missing->reason);
    refused_.clear();
    if (!feed_) {
      const HttpRequest& request = exchange_->passed.request;
      auto counters = all.viewers.add(place_.stream, request.address, request.identity.user, viewer_form(place_.form));
      feed_.emplace(all.rig, place_.camera, place_.stream, std::move(counters), ready_, place_.form);
    }
    feed_->look();
  }

  void look_at(const std::string& node) {
    feed_.reset();
    if (node.empty()) return refuse("no node runs this camera");
    if (node_ && node_->node() == node && !node_->over()) return;
    if (node_ && node_->over()) refuse(node_->problem());
    if (Clock::now() < next_try_) return;
    next_try_ = Clock::now() + try_node_again;
    drop_node();
    node_ = std::make_shared<NodeStream>(connection_, exchange_, node, name_, ready_);
    node_->start();
  }

  // `reason`: by value, since it may be that of the node, which goes.
  void refuse(std::string reason) {
    feed_.reset();
    drop_node();
    if (refused_ == reason) return;
    refused_ = std::move(reason);
    refusal_ = json_text({{"type", "unplayable"}, {"reason", refused_}});
  }

  void drop_node() {
    if (node_) node_->close();
    node_.reset();
  }

  [[nodiscard]] HttpShared& shared() const { return connection_->shared(); }

  const std::shared_ptr<HttpConnection> connection_;
  const std::shared_ptr<const Exchange> exchange_;
  const std::string name_;  // as in the request
  const LivePlace place_;
  const std::function<void()> ready_;
  // Both empty: it is refused.
  std::optional<LiveFeed> feed_;
  std::shared_ptr<NodeStream> node_;
  Clock::time_point next_try_;  // of a node
  std::string refused_;         // why; empty: it is not
  std::string refusal_;         // the message of that, until it is sent
};

class ManyStreams {
 public:
  ManyStreams(std::shared_ptr<HttpConnection> connection, Exchange& exchange, const std::vector<std::string>& streams)
      : connection_(std::move(connection)),
        exchange_(exchange),
        answer_(*connection_, exchange),
        event_(std::make_shared<HttpEvent>(connection_->shared().io)) {
    const auto own = std::make_shared<const Exchange>(exchange);  // what asks other nodes may last longer
    for (const std::string& stream : streams) streams_.emplace_back(connection_, own, stream, event_->waker());
  }

  awaitable<void> run(const HttpAnswer& head) {
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
      if (part.empty() && Clock::now() >= beat_at) append_head(part, LiveKind::beat, 0, 0);
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
      append_head(part, is_text ? LiveKind::text : LiveKind::bytes, stream,
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
  HttpAnswer head;
  head.type = form;
  if (co_await send_head_alone(*connection, exchange, head)) co_return;
  ManyStreams many(std::move(connection), exchange, streams);
  co_await many.run(head);
}

}  // namespace campipe
