// One connection of HTTP, from its first byte to its last. All of it runs on the thread that serves; what takes longer
// is waited for while others do it. Only for the files that use Boost.Beast.
#pragma once

#include "app/publisher/server/http/stream.h"  // first: see there

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/publisher/server/disk_threads.h"
#include "app/publisher/server/fair_threads.h"
#include "app/publisher/server/http/door.h"
#include "app/publisher/server/http/files.h"
#include "app/publisher/server/http/gate.h"
#include "app/publisher/server/http/live_place.h"
#include "app/publisher/server/http/places.h"
#include "app/publisher/server/http/reader.h"
#include "app/publisher/server/http/snapshots.h"
#include "app/publisher/server/http/viewers.h"
#include "app/publisher/server/server_tls.h"

namespace campipe {

class HttpConnection;

// What is served for long looks so often at what may have changed.
inline constexpr auto look_every = std::chrono::milliseconds(500);

// Threads beside the one that serves, by what takes its time there.
struct HttpThreads {
  explicit HttpThreads(std::shared_ptr<boost::asio::io_context> io) : disks(std::move(io)) {}

  // Runs `work` of a handler for `user`, who comes by the connection of `holder`; nothing: too much of the holder
  // waits. Users who administer the rig wait for no others.
  template <typename Work>
  boost::asio::awaitable<std::optional<std::invoke_result_t<Work>>> handle(const Identity& user,
                                                                           const std::string& holder, Work work) {
    using Result = std::invoke_result_t<Work>;
    if (!user.administers()) co_return co_await workers.run(holder, std::move(work));
    Result result = co_await run_on(administrators, std::move(work));
    co_return std::optional<Result>(std::in_place, std::move(result));
  }

  FairThreads workers{4, 2};  // what may take longer than handlers does not hold them up
  boost::asio::thread_pool administrators{2};
  FairThreads decoders{2, 1};  // snapshots
  DiskThreads disks;           // and nothing else waits for a disk
};

// What connections have in common. It lives as long as the last one of them.
struct HttpShared {
  HttpShared(const ServerConfig& config, RigView& of_rig, Access& access, std::vector<HttpServer::Route> of_routes,
             const HttpLimits& of_limits, HttpCluster of_cluster)
      : rig(of_rig),
        routes(std::move(of_routes)),
        cluster(std::move(of_cluster)),
        gate(config, access, routes, cluster.is_door),
        limits(of_limits),
        places(of_limits) {}

  RigView& rig;
  const std::vector<HttpServer::Route> routes;
  const HttpCluster cluster;
  const HttpGate gate;
  const HttpLimits limits;
  HttpPlaces places;
  HttpViewers viewers;
  HttpSnapshots snapshots;
  // Shared with what wakes it, which may come later than the server's end.
  std::shared_ptr<boost::asio::io_context> io = std::make_shared<boost::asio::io_context>(1);
  HttpThreads threads{io};

  // Of the serving thread, once it runs.
  ServerTls tls;  // null: plain
  std::set<HttpConnection*> connections;
  HttpDoor door;
  bool closing = false;
};

// The headers of this answer, and those of all answers.
void set_headers(boost::beast::http::fields& fields, const HttpAnswer& answer);

// The peer's, in numbers; an IPv4 address as such.
std::string address_of(const boost::asio::ip::tcp::socket& socket);

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(boost::asio::ip::tcp::socket socket, std::shared_ptr<HttpShared> of);
  ~HttpConnection();

  void start();
  void close();
  [[nodiscard]] bool closed() const { return closed_; }
  // To be called every few hundred milliseconds: ends what is served to one who may not see it any more.
  void end_if_taken_back();
  HttpStream& stream() { return stream_; }
  HttpShared& shared() { return *shared_; }
  [[nodiscard]] const std::string& holder() const { return place_.holder(); }

  struct Exchange {
    HttpMessage message;
    HttpFacts facts;
    HttpGate::Passed passed;
    bool keep_alive = false;
  };
  // `answer` is used up. No temporary fits, as GCC 12 destroys some that stand in an expression with co_await twice.
  boost::asio::awaitable<void> send(HttpAnswer& answer, const Exchange& exchange);
  // With the whole of the bytes, or throws.
  boost::asio::awaitable<void> send_bytes(boost::asio::const_buffer bytes);

 private:
  boost::asio::awaitable<void> run();
  boost::asio::awaitable<bool> serve_one();
  boost::asio::awaitable<bool> read_more();
  boost::asio::awaitable<bool> read_request(HttpReader& reader);
  boost::asio::awaitable<void> refuse_unread(const HttpAnswer& refusal);
  boost::asio::awaitable<HttpGate::Verdict> judge(const HttpFacts& facts);
  [[nodiscard]] std::optional<HttpAnswer> refuse_certificate();
  boost::asio::awaitable<void> dispatch(Exchange& exchange);
  boost::asio::awaitable<void> serve_route(Exchange& exchange);
  boost::asio::awaitable<HttpAnswer> look_at_disk(const HttpAnswer::DiskWork& work, const std::string& what,
                                                  bool takes_gzip);
  boost::asio::awaitable<void> serve_snapshot(Exchange& exchange, const LivePlace& place);
  boost::asio::awaitable<void> send_file(const HttpAnswer& answer, const Exchange& exchange);
  boost::asio::awaitable<void> linger();

  std::shared_ptr<HttpShared> shared_;
  HttpStream stream_;
  const std::string address_;
  HttpPlaces::Place place_;
  boost::beast::flat_buffer buffer_;
  const HttpGate::Passed* serving_ = nullptr;  // the exchange's, while it is answered
  bool taken_back_ = false;                    // when it was looked at last
  bool closed_ = false;
};

// WebSocket, until it is over. The connection has no other use afterwards.
boost::asio::awaitable<void> serve_web_socket(std::shared_ptr<HttpConnection> connection,
                                              HttpConnection::Exchange& exchange, LivePlace place);
// What another node answers, until one of the three ends. The connection has no other use afterwards.
boost::asio::awaitable<void> serve_relay(std::shared_ptr<HttpConnection> connection, HttpConnection::Exchange& exchange,
                                         std::string node);
// RTSP, likewise.
boost::asio::awaitable<void> serve_rtsp(std::shared_ptr<HttpConnection> connection, HttpConnection::Exchange& exchange);
// An answer without end.
boost::asio::awaitable<void> serve_endless(std::shared_ptr<HttpConnection> connection,
                                           HttpConnection::Exchange& exchange, LivePlace place);
// Another one: of many streams.
boost::asio::awaitable<void> serve_many(std::shared_ptr<HttpConnection> connection, HttpConnection::Exchange& exchange,
                                        std::vector<std::string> streams);
// Another one: of events.
boost::asio::awaitable<void> serve_events(std::shared_ptr<HttpConnection> connection,
                                          HttpConnection::Exchange& exchange, HttpAnswer::Events events);

}  // namespace campipe
