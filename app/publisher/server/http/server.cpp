#include "app/publisher/server/http/server.h"

#include "app/publisher/server/http/connection.h"  // first of those with asio

#include <boost/asio/detached.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "app/config/address.h"
#include "app/publisher/server/server_tls.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

namespace asio = boost::asio;
using asio::redirect_error;
using asio::use_awaitable;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr auto end_patience = std::chrono::milliseconds(800);
constexpr auto pause_without_descriptors = std::chrono::milliseconds(200);
constexpr auto access_check_interval = std::chrono::milliseconds(400);  // what was taken back ends within a second
constexpr int waiting_connections = 256;

void listen_at(tcp::acceptor& acceptor, const tcp::endpoint& at, ErrorCode& error) {
  const auto check = [&error](auto&& step) {
    if (!error) step();
  };
  error = {};
  acceptor.open(at.protocol(), error);
  check([&] { acceptor.set_option(tcp::acceptor::reuse_address(true), error); });
  // An address of all of IPv6 stands for IPv4's as well.
  check([&] {
    if (at.address().is_v6()) acceptor.set_option(asio::ip::v6_only(false), error);
  });
  check([&] { acceptor.bind(at, error); });
  check([&] { acceptor.listen(waiting_connections, error); });
  if (!error) return;
  ErrorCode ignored;  // the first one is reported
  acceptor.close(ignored);
}

tcp::acceptor open_acceptor(asio::io_context& io, const std::string& address) {
  const std::string what = "HTTP cannot listen at " + address;
  const auto place = split_listen_address(address);
  if (!place) throw Error(what + ": it is not HOST:PORT");
  tcp::acceptor acceptor(io);
  ErrorCode error;
  if (place->host.empty()) {
    listen_at(acceptor, {tcp::v6(), place->port}, error);
    if (error) listen_at(acceptor, {tcp::v4(), place->port}, error);  // a machine may be without IPv6
  } else {
    tcp::resolver resolver(io);
    const auto found = resolver.resolve(place->host, std::to_string(place->port), error);
    if (!error) listen_at(acceptor, found.begin()->endpoint(), error);
  }
  if (error) throw Error(what + ": " + error.message());
  return acceptor;
}

std::vector<HttpServer::Route> with_own(std::vector<HttpServer::Route> routes) {
  const auto places = std::make_shared<StreamPlaces>(4, 32);
  routes.push_back({"/live", false, [places](const HttpRequest& request) { return live_route(request, *places); }});
  return routes;
}

}  // namespace

class HttpServer::Implementation {
 public:
  Implementation(const ServerConfig& config, RigView& rig, Access& access, std::vector<Route> routes,
                 const HttpLimits& limits, const std::string& listen_at,
                 const std::function<void(std::uint16_t port)>& on_listening, ServerTls tls, HttpCluster cluster)
      : shared_(
            std::make_shared<HttpShared>(config, rig, access, with_own(std::move(routes)), limits, std::move(cluster))),
        acceptor_(open_acceptor(*shared_->io, listen_at.empty() ? config.http_address : listen_at)) {
    if (config.tls && !tls) throw Error("HTTP cannot be served: its certificate was not read");
    shared_->tls = std::move(tls);
    port_ = acceptor_.local_endpoint().port();
    if (on_listening) on_listening(port_);
    asio::co_spawn(
        *shared_->io, [this] { return accept(); }, asio::detached);
    asio::co_spawn(
        *shared_->io, [this] { return look_after(); }, asio::detached);
    thread_ = std::thread([this] { run(); });
  }

  ~Implementation() {
    asio::post(*shared_->io, [this] { close_all(); });
    if (ended_.get_future().wait_for(end_patience) != std::future_status::ready) shared_->io->stop();
    thread_.join();
    // Those of disks are not waited for: they may wait for ever.
    for (FairThreads* threads : {&shared_->threads.workers, &shared_->threads.decoders}) threads->join();
    shared_->threads.administrators.join();
    shared_->door.join();
    // What was left when the time was over comes to its end here, or it would keep itself alive.
    shared_->io->restart();
    shared_->io->poll();
  }

  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  void renew_certificate(ServerTls renewed) {
    asio::post(*shared_->io, [shared = shared_, renewed = std::move(renewed)] { shared->tls = renewed; });
  }

  [[nodiscard]] nlohmann::json viewers() const { return shared_->viewers.list(); }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void run() {
    ::pthread_setname_np(::pthread_self(), "http");
    shared_->io->run();
    ended_.set_value();
  }

  void close_all() {
    shared_->closing = true;
    ErrorCode ignored;  // it is closed either way
    acceptor_.close(ignored);
    look_timer_.cancel();
    for (HttpConnection* connection : shared_->connections) connection->close();
    shared_->snapshots.close();
    shared_->threads.disks.close();
  }

  // What is served for long ends when it was taken back: also to one who does not read it, or a file.
  asio::awaitable<void> look_after() {
    ErrorCode ignored;
    while (!shared_->closing) {
      look_timer_.expires_after(access_check_interval);
      co_await look_timer_.async_wait(redirect_error(use_awaitable, ignored));
      for (HttpConnection* connection : shared_->connections) connection->end_if_taken_back();
    }
  }

  asio::awaitable<void> accept() {
    asio::steady_timer pause(*shared_->io);
    while (!shared_->closing) {
      ErrorCode error;
      tcp::socket socket = co_await acceptor_.async_accept(redirect_error(use_awaitable, error));
      if (shared_->closing) break;
      if (!error) {
        welcome(std::move(socket));
        continue;
      }
      if (!std::exchange(logged_, true)) spdlog::warn("http: a connection cannot be taken: {}", error.message());
      pause.expires_after(pause_without_descriptors);
      co_await pause.async_wait(redirect_error(use_awaitable, error));
    }
  }

  void welcome(tcp::socket socket) {
    ErrorCode ignored;  // it may be gone already, which its first read will show
    socket.set_option(tcp::no_delay(true), ignored);
    const std::string address = address_of(socket);
    if (shared_->places.make_room_for(address, shared_->gate.is_proxy(address))) {
      std::make_shared<HttpConnection>(std::move(socket), shared_)->start();
    } else if (!shared_->tls) {
      constexpr std::string_view full =
          "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 10\r\n\r\n";
      socket.non_blocking(true, ignored);
      asio::write(socket, asio::buffer(full), ignored);
    }
  }

  const std::shared_ptr<HttpShared> shared_;
  tcp::acceptor acceptor_;
  asio::steady_timer look_timer_{*shared_->io};
  std::uint16_t port_ = 0;
  bool logged_ = false;
  std::promise<void> ended_;
  std::thread thread_;
};

HttpServer::HttpServer(const ServerConfig& config, RigView& rig, Access& access, std::vector<Route> routes,
                       const HttpLimits& limits, const std::string& listen_at,
                       const std::function<void(std::uint16_t port)>& on_listening, ServerTls tls, HttpCluster cluster)
    : implementation_(std::make_unique<Implementation>(config, rig, access, std::move(routes), limits, listen_at,
                                                       on_listening, std::move(tls), std::move(cluster))) {}
HttpServer::~HttpServer() = default;

nlohmann::json HttpServer::viewers() const { return implementation_->viewers(); }
void HttpServer::renew_certificate(ServerTls tls) { implementation_->renew_certificate(std::move(tls)); }
std::uint16_t HttpServer::port() const { return implementation_->port(); }

}  // namespace campipe
