#include "app/publisher/server/rtsp/relays.h"

#include "app/publisher/server/nodes/link.h"  // first of those with asio

#include <openssl/err.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <map>
#include <utility>

#include "app/config/address.h"
#include "app/publisher/server/login_limit.h"
#include "app/publisher/server/rtsp/relayed_request.h"
#include "core/log.h"

namespace campipe {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::redirect_error;
using asio::use_awaitable;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::size_t most_relays = 500;
constexpr std::size_t at_once = 64 * 1024;
constexpr std::size_t longest_head = 16 * 1024;
constexpr auto relay_patience = std::chrono::seconds(15);
constexpr auto silence_patience = std::chrono::seconds(120);  // reports come every few seconds
constexpr auto send_patience = std::chrono::seconds(30);
constexpr auto look_every = std::chrono::milliseconds(400);

// The client's side: a socket that GStreamer had, and perhaps its TLS.
class ClientEnd {
 public:
  // Throws boost::system::system_error.
  ClientEnd(asio::io_context& io, RtspChannel::Taken& taken) : socket_(io), tls_(std::move(taken.tls)) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const bool is_v6 = ::getsockname(taken.fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
                       address.ss_family == AF_INET6;
    socket_.assign(is_v6 ? tcp::v6() : tcp::v4(), taken.fd.get());
    static_cast<void>(taken.fd.release());
    socket_.non_blocking(true);
    if (tls_ && ::SSL_set_fd(tls_.get(), socket_.native_handle()) != 1) throw std::bad_alloc();
  }

  void close() {
    ErrorCode ignored;  // it is closed either way
    socket_.close(ignored);
  }

  // 0: the client has ended.
  awaitable<std::size_t> read(asio::mutable_buffer room) {
    ErrorCode error;
    if (!tls_) {
      const std::size_t size = co_await socket_.async_read_some(room, redirect_error(use_awaitable, error));
      co_return error ? 0 : size;
    }
    for (;;) {
      ::ERR_clear_error();
      const int size = ::SSL_read(tls_.get(), room.data(), static_cast<int>(room.size()));
      if (size > 0) co_return static_cast<std::size_t>(size);
      const bool waits = co_await wait_for(size);
      if (!waits) co_return 0;
    }
  }

  // False: it takes no more.
  awaitable<bool> write(asio::const_buffer all) {
    ErrorCode error;
    if (!tls_) {
      co_await asio::async_write(socket_, all, redirect_error(use_awaitable, error));
      co_return !error;
    }
    while (all.size() > 0) {
      ::ERR_clear_error();
      const int size = ::SSL_write(tls_.get(), all.data(), static_cast<int>(all.size()));
      if (size > 0) {
        all += static_cast<std::size_t>(size);
        continue;
      }
      const bool waits = co_await wait_for(size);
      if (!waits) co_return false;
    }
    co_return true;
  }

 private:
  // Until the socket has, or takes, what TLS waits for; false: it is over.
  awaitable<bool> wait_for(int result) {
    const int reason = ::SSL_get_error(tls_.get(), result);
    if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE) co_return false;
    ErrorCode error;
    const auto what = reason == SSL_ERROR_WANT_READ ? tcp::socket::wait_read : tcp::socket::wait_write;
    co_await socket_.async_wait(what, redirect_error(use_awaitable, error));
    co_return !error;
  }

  tcp::socket socket_;
  std::unique_ptr<SSL, RtspChannel::SslFree> tls_;
};

}  // namespace

// Of the thread that talks to nodes.
struct RtspRelays::State {
  explicit State(Access& of) : access(of) {}
  Access& access;
  std::size_t count = 0;
  std::map<std::string, std::size_t> by_network;
  bool closing = false;
};

class RtspRelays::Relay : public std::enable_shared_from_this<Relay> {
 public:
  Relay(Nodes& nodes, std::shared_ptr<State> state, RtspChannel::Taken taken, Whose whose)
      : nodes_(nodes),
        state_(std::move(state)),
        whose_(std::move(whose)),
        network_(network_of(whose_.address)),
        message_(std::move(taken.message)),
        rest_(std::move(taken.rest)),
        client_(nodes.io(), taken),
        look_(nodes.io()) {
    ++state_->count;
    ++state_->by_network[network_];
  }
  ~Relay() {
    --state_->count;
    if (--state_->by_network[network_] == 0) state_->by_network.erase(network_);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  awaitable<void> run(std::size_t most_of_address);

 private:
  awaitable<void> open();
  awaitable<void> refuse(std::string reason);
  awaitable<void> watch();
  awaitable<void> listen();
  awaitable<bool> pass_on(std::string message);
  awaitable<void> speak();
  void end() {
    over_ = true;
    client_.close();
    if (link_) link_->tcp().close();
    look_.cancel();
  }

  Nodes& nodes_;
  const std::shared_ptr<State> state_;
  const Whose whose_;
  const std::string network_;
  const std::string message_;
  std::string rest_;
  ClientEnd client_;
  asio::steady_timer look_;
  std::unique_ptr<HttpStream> link_;
  std::optional<Clock::time_point> sending_since_;  // to the client
  bool over_ = false;
};

awaitable<void> RtspRelays::Relay::refuse(std::string reason) {
  spdlog::debug("rtsp: {}: {}", whose_.camera, reason);
  const std::string answer = rtsp_answer(message_, 503, "Service Unavailable");
  sending_since_ = Clock::now();
  co_await client_.write(asio::buffer(answer));
}

// The node's answer, whose head ends where RTSP begins. Throws NodeGone.
awaitable<void> RtspRelays::Relay::open() {
  const auto places = nodes_.places();
  const auto node = places->cameras.find(whose_.camera);
  if (node == places->cameras.end() || node->second.empty()) throw NodeGone("no node runs this camera");
  const NodeTarget target = nodes_.target_of(node->second);
  link_ = co_await connect_to(target, Clock::now() + connect_patience);
  std::vector<HeaderLine> headers{{"Host", target.address},
                                  header_for(whose_.identity, state_->access.required()),
                                  {"Connection", "Upgrade"},
                                  {"Upgrade", "rtsp"}};
  if (is_address(whose_.address)) headers.emplace_back("X-Forwarded-For", whose_.address);
  std::string head = request_head("GET", "/cameras/" + whose_.camera + "/rtsp", 11, headers);
  const Deadline deadline = Clock::now() + relay_patience;
  co_await write_all(*link_, std::move(head), deadline);
  std::string answer;
  char letter = 0;
  while (!answer.ends_with("\r\n\r\n") && answer.size() < longest_head) {
    link_->tcp().expires_at(deadline);
    co_await link_->async_read_some(asio::buffer(&letter, 1), use_awaitable);
    answer += letter;
  }
  if (!answer.starts_with("HTTP/1.1 101 ")) throw NodeGone("it does not serve this by RTSP");
}

awaitable<void> RtspRelays::Relay::run(std::size_t most_of_address) {
  asio::co_spawn(
      nodes_.io(), [self = shared_from_this()] { return self->watch(); }, asio::detached);
  std::string problem;
  const bool has_room = state_->count <= most_relays && state_->by_network[network_] <= most_of_address;
  try {
    if (!has_room) throw NodeGone("too many connections to other nodes");
    co_await open();
  } catch (const NodeGone& error) {
    problem = error.what();
  } catch (const boost::system::system_error& error) {
    problem = error.code().message();
  }
  if (!problem.empty()) {
    co_await refuse(problem);
    end();
    co_return;
  }
  asio::co_spawn(
      nodes_.io(), [self = shared_from_this()] { return self->listen(); }, asio::detached);
  co_await speak();
  end();
}

awaitable<void> RtspRelays::Relay::watch() {
  ErrorCode ignored;
  while (!over_) {
    look_.expires_after(look_every);
    co_await look_.async_wait(redirect_error(use_awaitable, ignored));
    const bool is_late = sending_since_ && Clock::now() - *sending_since_ > send_patience;
    if (is_late || state_->closing || !state_->access.still_may(whose_.identity, Permission::view, whose_.camera))
      end();
  }
}

awaitable<bool> RtspRelays::Relay::pass_on(std::string message) {
  auto request = request_for_node(message, whose_.camera);
  if (!request) co_return false;
  co_await write_all(*link_, std::move(*request), Clock::now() + send_patience);
  co_return true;
}

// What it asks, one whole message after the other.
awaitable<void> RtspRelays::Relay::listen() {
  RtspFraming framing;
  std::array<char, at_once> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): it is read into
  try {
    bool goes_on = co_await pass_on(message_);
    framing.add(rest_);
    while (goes_on && !over_) {
      while (goes_on && framing.whole()) {
        std::string message(framing.message());
        framing.take(message);
        goes_on = co_await pass_on(std::move(message));
      }
      if (!goes_on || !framing.refusal().empty()) break;
      const std::size_t size = co_await client_.read(asio::buffer(chunk));
      goes_on = size > 0;
      framing.add(std::span(chunk).first(size));
    }
  } catch (const boost::system::system_error& error) {
    spdlog::debug("rtsp: {}: a connection to another node ends: {}", whose_.camera, error.what());
  }
  end();
}

awaitable<void> RtspRelays::Relay::speak() {
  std::array<char, at_once> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): it is read into
  ErrorCode error;
  bool is_taken = true;
  while (is_taken && !error) {
    link_->tcp().expires_after(silence_patience);
    const std::size_t size = co_await link_->async_read_some(asio::buffer(chunk), redirect_error(use_awaitable, error));
    sending_since_ = Clock::now();
    is_taken = co_await client_.write(asio::buffer(chunk.data(), size));
    sending_since_.reset();
  }
}

RtspRelays::RtspRelays(Nodes& nodes, Access& access, std::size_t most_of_address)
    : nodes_(nodes), state_(std::make_shared<State>(access)), most_of_address_(most_of_address) {}

RtspRelays::~RtspRelays() {
  asio::post(nodes_.io(), [state = state_] { state->closing = true; });
}

void RtspRelays::begin(RtspChannel::Taken taken, Whose whose) {
  const auto shared = std::make_shared<RtspChannel::Taken>(std::move(taken));
  asio::post(nodes_.io(), [this_nodes = &nodes_, state = state_, most = most_of_address_, shared,
                           whose = std::move(whose)]() mutable {
    try {
      const auto relay = std::make_shared<Relay>(*this_nodes, state, std::move(*shared), std::move(whose));
      asio::co_spawn(
          this_nodes->io(), [relay, most] { return relay->run(most); }, asio::detached);
    } catch (const std::exception& error) {
      spdlog::error("rtsp: a connection cannot be passed on to another node: {}", error.what());
    }
  });
}

}  // namespace campipe
