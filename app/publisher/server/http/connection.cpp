#include "app/publisher/server/http/connection.h"

#include <boost/asio/detached.hpp>

#include <algorithm>

#include "app/publisher/server/http/compression.h"
#include "app/publisher/server/http/snapshot_answer.h"
#include "app/publisher/server/nodes/certificate.h"
#include "app/publisher/server/nodes/nodes.h"
#include "core/log.h"
#include "core/passwords.h"

namespace campipe {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::redirect_error;
using asio::use_awaitable;
using ErrorCode = HttpStream::ErrorCode;

constexpr auto farewell_patience = std::chrono::seconds(2);
constexpr std::size_t most_of_a_login = 4096;  // bytes

template <typename Handle>
HttpAnswer handle_route(const std::string& what, bool takes_gzip, const Handle& handle) {
  try {
    HttpAnswer answer = handle();
    compress(answer, takes_gzip);
    return answer;
  } catch (const std::exception& error) {
    spdlog::error("http: {} failed: {}", what, error.what());
    return http_error(500, "the request failed; the log has the reason");
  }
}

HttpAnswer door_is_full() { return http_busy("too many are logging in; try again", 1); }

HttpAnswer too_much_waits() { return http_busy("too many requests of yours wait already; try again", 1); }

HttpAnswer no_place_is_left() { return http_busy("all places are taken, and most of them from where this comes", 10); }

LivePlace place_of(const HttpGate::Passed& passed) {
  const auto output = passed.request.query.find("output");
  const bool has_output = output != passed.request.query.end() && !output->second.empty();
  const std::string& camera = passed.camera->camera;
  const auto sound = passed.request.query.find("sound");
  const bool listens = sound != passed.request.query.end() && sound->second == "1";
  return {camera, has_output ? camera + "/" + output->second : camera, listens ? LiveForm::sound : LiveForm::fmp4};
}

// Nothing: it is answered here. Whose node it is not known of is another matter.
std::optional<std::string> relayed_to(const HttpShared& shared, const HttpGate::Passed& passed) {
  if (shared.cluster.nodes == nullptr || passed.request.from_node) return std::nullopt;
  return shared.cluster.nodes->places()->elsewhere(passed.camera->camera);
}

}  // namespace

std::string address_of(const asio::ip::tcp::socket& socket) {
  ErrorCode error;
  auto address = socket.remote_endpoint(error).address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return error ? "unknown" : address.to_string();
}

HttpConnection::HttpConnection(asio::ip::tcp::socket socket, std::shared_ptr<HttpShared> of)
    : shared_(std::move(of)),
      stream_(std::move(socket), shared_->tls.get()),
      address_(address_of(stream_.tcp().socket())),
      place_(shared_->places, address_, shared_->gate.is_proxy(address_), [this] { close(); }) {
  shared_->connections.insert(this);
}

HttpConnection::~HttpConnection() { shared_->connections.erase(this); }

void HttpConnection::start() {
  asio::co_spawn(
      *shared_->io, [self = shared_from_this()] { return self->run(); }, asio::detached);
}

void HttpConnection::close() {
  closed_ = true;
  place_.leave();
  stream_.tcp().close();
}

awaitable<void> HttpConnection::run() {
  try {
    stream_.tcp().expires_after(shared_->limits.request);
    co_await stream_.handshake();
    bool more = true;
    while (more && !shared_->closing) more = co_await serve_one();
    stream_.tcp().expires_after(farewell_patience);
    co_await stream_.send_end();
  } catch (const boost::system::system_error& error) {
    spdlog::debug("http: {} is gone: {}", address_, error.what());
  } catch (const std::exception& error) {
    spdlog::error("http: the connection of {} ends: {}", address_, error.what());
  }
  close();
}

awaitable<bool> HttpConnection::read_more() {
  ErrorCode error;
  const std::size_t size =
      co_await stream_.async_read_some(buffer_.prepare(HttpReader::most_at_once), redirect_error(use_awaitable, error));
  buffer_.commit(size);
  co_return !error;
}

// False: the connection ended, or took too long.
awaitable<bool> HttpConnection::read_request(HttpReader& reader) {
  stream_.tcp().expires_after(shared_->limits.idle);
  if (buffer_.size() == 0) {
    const bool more = co_await read_more();
    if (!more) co_return false;
  }
  const Deadline deadline = Clock::now() + shared_->limits.request;
  stream_.tcp().expires_at(deadline);
  for (;;) {
    buffer_.consume(reader.take(buffer_.data()));
    if (reader.done()) co_return true;
    // One who never stops to send is not one who waits.
    if (Clock::now() >= deadline) co_return false;
    const bool more = co_await read_more();
    if (!more) co_return false;
  }
}

awaitable<bool> HttpConnection::serve_one() {
  place_.idle();
  HttpReader reader;
  const bool is_there = co_await read_request(reader);
  if (!is_there) co_return false;
  place_.judge();
  Exchange exchange;
  if (reader.refusal()) {
    co_await refuse_unread(*reader.refusal());
    co_return false;
  }
  exchange.message = reader.release();
  exchange.keep_alive = exchange.message.keep_alive() && !shared_->closing;
  exchange.facts = facts_of(exchange.message);
  shared_->gate.note_peer(exchange.facts, address_, stream_.has_tls());
  HttpGate::Verdict verdict;
  verdict.refusal = refuse_certificate();
  if (!verdict.refusal) verdict = co_await judge(exchange.facts);
  exchange.passed = std::move(verdict.passed);
  if (closed_) co_return false;
  if (!place_.answer(exchange.passed.request.identity, exchange.facts.address)) verdict.refusal = no_place_is_left();
  if (verdict.refusal) {
    co_await send(*verdict.refusal, exchange);
  } else {
    struct Serving {
      HttpConnection& connection;
      ~Serving() { connection.serving_ = nullptr; }
    } const until_answered{*this};
    serving_ = &exchange.passed;
    co_await dispatch(exchange);
  }
  co_return exchange.keep_alive && !closed_;
}

awaitable<void> HttpConnection::refuse_unread(const HttpAnswer& refusal) {
  place_.answer({}, address_);  // which is all that is known
  Exchange exchange;
  exchange.message.version(11);
  HttpAnswer answer = refusal;
  co_await send(answer, exchange);
  co_await linger();
}

// Only at the second look, as what serves may still be closing the stream.
void HttpConnection::end_if_taken_back() {
  if (serving_ == nullptr || shared_->gate.still_may(*serving_)) {
    taken_back_ = false;
  } else if (std::exchange(taken_back_, true)) {
    spdlog::info("http: the connection of {} ends: what it was let in for was taken back", address_);
    close();
  }
}

// Bytes that are never read would make the kernel take the answer back.
awaitable<void> HttpConnection::linger() {
  ErrorCode error;
  stream_.tcp().expires_after(farewell_patience);
  stream_.tcp().socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
  while (!error) {
    buffer_.clear();
    co_await stream_.async_read_some(buffer_.prepare(4096), redirect_error(use_awaitable, error));
  }
}

awaitable<HttpGate::Verdict> HttpConnection::judge(const HttpFacts& facts) {
  HttpShared& shared = *shared_;
  HttpGate::Verdict verdict = shared.gate.judge_quickly(facts);
  if (!verdict.unclear) co_return verdict;
  const std::string key = shared.gate.key_of(facts);
  const std::function<Access::Result()> look = [&shared, &facts] { return shared.gate.check_password(facts); };
  const auto result = co_await shared.door.check(key, facts.address, look);
  if (result) {
    verdict = shared.gate.judge(facts, *result);
  } else {
    verdict.refusal = door_is_full();
  }
  co_return verdict;
}

// At a node's door, before anything else is said: who is no node learns nothing of users. The authority may have signed
// others than nodes, such as etcd, which may be on a node's machine.
std::optional<HttpAnswer> HttpConnection::refuse_certificate() {
  SSL* const tls = stream_.tls_handle();
  if (!shared_->cluster.is_door || tls == nullptr) return std::nullopt;
  const auto places = shared_->cluster.nodes->places();
  const std::string name = certified_name(tls);
  if (places->nodes.contains(name)) return std::nullopt;
  if (places->nodes.empty()) return http_busy("this node does not know the others yet", 1);
  return http_error(
      403, "the certificate is that of no node of this cluster: its common name is '" + shown_name(name) + "'");
}

awaitable<void> HttpConnection::dispatch(Exchange& exchange) {
  const HttpGate::Passed& passed = exchange.passed;
  if (!passed.camera) {
    co_await serve_route(exchange);
    co_return;
  }
  const std::string& what = passed.camera->what;
  if (what == "rtsp" && passed.request.from_node) {
    co_await serve_rtsp(shared_from_this(), exchange);
    co_return;
  }
  const bool endless = what == "stream.ts" || what == "stream.mp4";
  // Nothing else is passed on: at its door the camera's node serves more, such as RTSP, to other nodes.
  const bool is_known = what == "live" || endless || what == "snapshot.jpg";
  const auto self = shared_from_this();
  if (const auto node = is_known ? relayed_to(*shared_, passed) : std::nullopt) {
    co_await serve_relay(self, exchange, *node);
    co_return;
  }
  const LivePlace place = place_of(passed);
  const auto missing = refuse_place(shared_->rig, shared_->cluster.nodes, place);
  HttpAnswer refusal;
  if (!is_known)
    refusal = http_error(404, "a camera has no such thing");
  else if (passed.request.method != "GET")
    refusal = method_not_allowed();
  else if (missing)
    refusal = missing->status == 503 ? http_busy(missing->reason, 1) : http_error(missing->status, missing->reason);
  else if (what == "live" && !exchange.facts.upgrade)
    refusal = http_error(426, "this address speaks WebSocket only");
  if (refusal.status != 200)
    co_await send(refusal, exchange);
  else if (what == "snapshot.jpg")
    co_await serve_snapshot(exchange, place);
  else if (endless)
    co_await serve_endless(self, exchange, place);
  else
    co_await serve_web_socket(self, exchange, place);
}

awaitable<void> HttpConnection::serve_route(Exchange& exchange) {
  const HttpServer::Route& route = *exchange.passed.route;
  const HttpRequest& request = exchange.passed.request;
  const bool is_login = route.anyone && request.method != "GET";  // strangers may send it, and its check takes long
  const std::string what = request.method + " " + request.path;
  const auto handle = [&] { return handle_route(what, request.takes_gzip, [&] { return route.handle(request); }); };
  HttpAnswer answer;
  if (is_login && request.body.size() > most_of_a_login) {
    answer = http_error(413, "this is too much for a login");
  } else if (is_login) {
    auto done = co_await shared_->door.run(request.address, handle);
    answer = done ? std::move(*done) : door_is_full();
  } else {
    auto done = co_await shared_->threads.handle(request.identity, place_.holder(), handle);
    answer = done ? std::move(*done) : too_much_waits();
  }
  if (answer.relay_to) {
    co_await serve_relay(shared_from_this(), exchange, *answer.relay_to);
    co_return;
  }
  exchange.passed.looks_itself = answer.events || !answer.live_streams.empty();
  if (answer.events) {
    co_await serve_events(shared_from_this(), exchange, std::move(answer.events));
    co_return;
  }
  if (!answer.live_streams.empty()) {
    co_await serve_many(shared_from_this(), exchange, std::move(answer.live_streams));
    co_return;
  }
  if (const auto work = std::move(answer.on_disk)) answer = co_await look_at_disk(work, what, request.takes_gzip);
  co_await send(answer, exchange);
}

awaitable<HttpAnswer> HttpConnection::look_at_disk(const HttpAnswer::DiskWork& work, const std::string& what,
                                                   bool takes_gzip) {
  const auto note = std::make_shared<DiskNote>();
  const auto look = [work, what, note, takes_gzip] {
    return handle_route(what, takes_gzip, [&] { return work(*note); });
  };
  auto done = co_await shared_->threads.disks.run(place_.holder(), look, shared_->limits.disk);
  if (!done) co_return no_answer_from_disk(note->camera());
  co_return std::move(*done);
}

awaitable<void> HttpConnection::serve_snapshot(Exchange& exchange, const LivePlace& place) {
  const auto make = [this, &place, &exchange] {
    return snapshot_answer(shared_->snapshots, shared_->rig, {place.camera, place.stream},
                           exchange.passed.request.query);
  };
  auto made = co_await shared_->threads.decoders.run(place_.holder(), make);
  HttpAnswer answer = made ? std::move(*made) : too_much_waits();
  co_await send(answer, exchange);
}

}  // namespace campipe
