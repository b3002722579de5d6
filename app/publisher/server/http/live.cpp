#include "app/publisher/server/http/connection.h"  // first of those with asio

#include <boost/asio/detached.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "app/publisher/server/http/endless.h"
#include "app/publisher/server/http/event.h"
#include "app/publisher/server/http/rules.h"
#include "app/publisher/server/live/feed.h"
#include "app/publisher/server/live/fragment_times.h"
#include "core/log.h"

namespace campipe {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::awaitable;
using asio::redirect_error;
using asio::use_awaitable;
using Exchange = HttpConnection::Exchange;

constexpr auto first_picture_patience = std::chrono::seconds(10);
constexpr auto silence_patience = std::chrono::seconds(60);  // a ping after half of it
constexpr auto close_patience = std::chrono::seconds(2);
constexpr std::size_t longest_message = 4096;  // of a client
class LiveSocket : public std::enable_shared_from_this<LiveSocket> {
 public:
  LiveSocket(std::shared_ptr<HttpConnection> connection, const Exchange& exchange, const LivePlace& place)
      : connection_(std::move(connection)),
        passed_(exchange.passed),
        socket_(connection_->stream()),
        event_(std::make_shared<HttpEvent>(connection_->shared().io)),
        feed_(connection_->shared().rig, place.camera, place.stream,
              connection_->shared().viewers.add(place.stream, exchange.facts.address, passed_.request.identity.user,
                                                viewer_form(place.form)),
              event_->waker(), place.form) {}

  awaitable<void> run(const HttpMessage& request) {
    connection_->stream().tcp().expires_never();
    keep_queue_short(connection_->stream(), connection_->shared().limits.send);
    websocket::stream_base::timeout patience{std::chrono::seconds(10), silence_patience, true};
    socket_.set_option(patience);
    socket_.set_option(websocket::stream_base::decorator([](websocket::response_type& response) {
      HttpAnswer plain;
      set_headers(response, plain);
      response.erase(http::field::content_type);
    }));
    socket_.read_message_max(longest_message);
    socket_.auto_fragment(false);
    co_await socket_.async_accept(request, use_awaitable);
    asio::co_spawn(
        *connection_->shared().io, [self = shared_from_this()] { return self->listen(); }, asio::detached);
    co_await speak();
    connection_->close();
  }

 private:
  awaitable<void> speak() {
    Clock::time_point look_at;
    while (!gone_) {
      if (Clock::now() >= look_at) {
        look_at = Clock::now() + look_every;
        feed_.look();
        if (!connection_->shared().gate.still_may(passed_)) {
          co_await close_socket(websocket::close_code::policy_error);
          co_return;
        }
      }
      LiveMessage message;
      const LiveFeed::Next next = feed_.next(message);
      if (next == LiveFeed::Next::message) co_await send(message);
      if (next == LiveFeed::Next::nothing) co_await event_->wait_until(look_at);
      if (next == LiveFeed::Next::over) {
        co_await close_socket(websocket::close_code::normal);
        co_return;
      }
    }
  }

  awaitable<void> send(const LiveMessage& message) {
    socket_.text(message.bytes == nullptr);
    const auto bytes = message.bytes ? asio::buffer(*message.bytes) : asio::buffer(message.text);
    co_await socket_.async_write(bytes, use_awaitable);
  }

  awaitable<void> close_socket(websocket::close_code code) {
    websocket::stream_base::timeout patience{close_patience, close_patience, false};
    socket_.set_option(patience);
    HttpStream::ErrorCode ignored;  // it is over either way
    co_await socket_.async_close(code, redirect_error(use_awaitable, ignored));
  }

  awaitable<void> listen() {
    beast::flat_buffer buffer;
    HttpStream::ErrorCode error;
    while (!error) {
      co_await socket_.async_read(buffer, redirect_error(use_awaitable, error));
      if (error) break;
      obey(parse_viewer_wish({static_cast<const char*>(buffer.data().data()), buffer.size()}));
      buffer.clear();
      event_->wake();
    }
    gone_ = true;
    event_->wake();
  }

  void obey(ViewerWish wish) {
    if (wish == ViewerWish::pause) feed_.pause();
    if (wish == ViewerWish::resume) feed_.resume();
  }

  const std::shared_ptr<HttpConnection> connection_;
  const HttpGate::Passed passed_;
  websocket::stream<HttpStream&, false> socket_;  // nothing is compressed: video is already
  const std::shared_ptr<HttpEvent> event_;
  LiveFeed feed_;
  bool gone_ = false;
};

// Video for players, in one long answer.
class LiveAnswer {
 public:
  LiveAnswer(std::shared_ptr<HttpConnection> connection, Exchange& exchange, const LivePlace& place, LiveForm form)
      : connection_(std::move(connection)),
        exchange_(exchange),
        answer_(*connection_, exchange),
        stream_(connection_->shared().rig.stream(place.stream)),
        event_(std::make_shared<HttpEvent>(connection_->shared().io)),
        counters_(connection_->shared().viewers.add(place.stream, exchange.facts.address,
                                                    exchange.passed.request.identity.user, viewer_form(form))),
        form_(form) {}

  awaitable<void> run() {
    if (!stream_) {
      co_await refuse();
      co_return;
    }
    viewer_ = stream_->watch(form_);
    viewer_->on_ready(event_->waker());
    const bool comes = co_await next(Clock::now() + first_picture_patience);
    if (!comes) {
      co_await refuse();
      co_return;
    }
    HttpAnswer head;
    head.type = piece_.header->mime;
    co_await answer_.begin(head);
    const auto header = piece_.header;
    if (header->bytes) co_await put(*header->bytes);
    if (header->bytes) times_.begin(*header->bytes);
    bool more = true;
    // Players of MP4 do not take another beginning in the middle.
    while (more && (form_ == LiveForm::mpegts || same_beginning(*piece_.header, *header))) {
      co_await put_piece();
      ++counters_->sent;
      counters_->bytes += piece_.bytes->size();
      more = co_await next(Clock::time_point::max());
    }
    co_await answer_.end();
  }

 private:
  static bool same_beginning(const LiveHeader& one, const LiveHeader& other) {
    return one.serial == other.serial || *one.bytes == *other.bytes;
  }

  awaitable<void> refuse() {
    const std::string failure = stream_ ? stream_->failure(form_) : "";
    HttpAnswer answer = http_error(503, "this camera sends nothing now");
    if (!failure.empty()) answer = http_error(415, failure);
    co_await connection_->send(answer, exchange_);
  }

  // Waits for the next piece; false: there will be none.
  awaitable<bool> next(Clock::time_point deadline) {
    for (;;) {
      const LiveViewer::Next next = viewer_->take(piece_, Deadline());
      counters_->dropped = viewer_->dropped();
      if (next == LiveViewer::Next::piece) co_return true;
      const bool may = connection_->shared().gate.still_may(exchange_.passed);
      if (next == LiveViewer::Next::over || Clock::now() >= deadline || !may || answer_.is_gone()) co_return false;
      if (!stream_->failure(form_).empty()) co_return false;
      co_await event_->wait_until(std::min(deadline, Clock::now() + look_every));
    }
  }

  awaitable<void> put_piece() {
    if (form_ == LiveForm::mpegts) {
      co_await put(*piece_.bytes);
      co_return;
    }
    std::vector<std::uint8_t> own = *piece_.bytes;  // others get the same
    times_.place(own);
    co_await put(own);
  }

  awaitable<void> put(const std::vector<std::uint8_t>& bytes) { co_await answer_.put(asio::buffer(bytes)); }

  const std::shared_ptr<HttpConnection> connection_;
  Exchange& exchange_;
  EndlessAnswer answer_;
  const std::shared_ptr<LiveStream> stream_;
  const std::shared_ptr<HttpEvent> event_;
  const std::shared_ptr<HttpViewer> counters_;
  const LiveForm form_;
  std::shared_ptr<LiveViewer> viewer_;
  LivePiece piece_;
  FragmentTimes times_;
};

}  // namespace

awaitable<void> serve_web_socket(std::shared_ptr<HttpConnection> connection, Exchange& exchange, LivePlace place) {
  exchange.keep_alive = false;
  const auto socket = std::make_shared<LiveSocket>(connection, exchange, place);
  co_await socket->run(exchange.message);
}

awaitable<void> serve_endless(std::shared_ptr<HttpConnection> connection, Exchange& exchange, LivePlace place) {
  const LiveForm form = exchange.passed.camera->what == "stream.ts" ? LiveForm::mpegts : LiveForm::mp4;
  HttpAnswer head;
  head.type = form == LiveForm::mpegts ? "video/mp2t" : "video/mp4";
  if (co_await send_head_alone(*connection, exchange, head)) co_return;
  LiveAnswer answer(std::move(connection), exchange, place, form);
  co_await answer.run();
}

}  // namespace campipe
