// HTTP, WebSocket and TLS by Boost.Beast: pages, API, live video, recordings, metrics. One thread serves all
// connections; handlers of requests, which may wait for the rig, run on a few others, and what may wait for a disk on
// others again (app/publisher/server/disk_threads.h). It never holds up the publisher: all it touches is RigView,
// Access and files.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/config/server_config.h"
#include "app/publisher/server/access.h"
#include "app/publisher/server/api/rig_view.h"
#include "app/publisher/server/server_tls.h"
#include "core/files_below.h"
#include "core/unique_handle.h"

namespace campipe {

class Nodes;

// A request whose sender is known and whose size was checked. Valid during the handler's call.
struct HttpRequest {
  std::string method;  // GET (also of HEAD), or any other, which its handler may not know
  std::string path;    // decoded, without the query; begins with '/'
  std::map<std::string, std::string> query;
  std::string body;
  std::string address;  // the peer's
  Identity identity;
  std::string session;     // the token in the cookie of a session, if that is how the sender is known
  bool secure = false;     // it came over TLS
  bool from_node = false;  // another node of the cluster sent it, for `identity`: only what is here is answered
  std::string base = {};   // "/cams": below which a proxy shows this; empty: nowhere, or it does not say so
  bool takes_gzip = false;
  std::uint16_t port = 0;  // in its `Host`; 0: none
  bool is_head = false;    // it was HEAD, which changes nothing
};
// Whose recordings a thread is looking at, which may wait for their disk. Any thread.
class DiskNote {
 public:
  void is_about(const std::string& camera) {
    const std::lock_guard lock(mutex_);
    camera_ = camera;
  }
  [[nodiscard]] std::string camera() const {
    const std::lock_guard lock(mutex_);
    return camera_;
  }

 private:
  mutable std::mutex mutex_;
  std::string camera_;
};

struct HttpAnswer {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  // An ETag here is compared with what the browser has. Headers of security are added where they are not here.
  std::vector<std::pair<std::string, std::string>> headers;
  // Sent instead of `body`, with ranges, where it has a name; its ending gives the type, and with the query
  // `download` it is to be saved. That this sender may read it is the handler's affair.
  PathBelow file;
  std::string saved_as;  // the name for that
  // Says what is answered instead of all this, on a thread that may wait for a disk; handlers themselves may not. It
  // owns all that it uses: where the disk does not answer, neither it nor its thread is waited for at the end.
  using DiskWork = std::function<HttpAnswer(DiskNote& note)>;
  DiskWork on_disk;
  // Called every two seconds, on a thread for handlers, for as long as the client stays: what it returns is sent
  // instead of all this, as text/event-stream. Nothing: it is over. Not called again before that is on its way. Empty:
  // no events.
  using Events = std::function<std::optional<std::string>()>;
  Events events;
  // Sent instead of all this for as long as the client stays: the live streams of these names, for `/live`.
  std::vector<std::string> live_streams;
  std::shared_ptr<void> live_place;  // of StreamPlaces
  // The node of the cluster whose answer this is to be: the request goes on to there. Empty: no node has what is asked
  // for now.
  std::optional<std::string> relay_to;
};

struct HttpLimits {
  std::size_t connections = 1000;                                // who has which: app/publisher/server/http/places.h
  std::size_t idle_of_an_address = 64;                           // that are not being answered; the oldest gives way
  std::chrono::milliseconds request = std::chrono::seconds(10);  // from its first byte to its last
  std::chrono::milliseconds idle = std::chrono::seconds(60);     // between requests
  std::chrono::milliseconds send = std::chrono::seconds(30);     // that does not move
  std::chrono::milliseconds relay = std::chrono::seconds(15);    // until another node answers, whose rig may take ten
  std::chrono::milliseconds disk = std::chrono::seconds(10);     // each time that something is read from one
};

// Of a server of a node of a cluster (publisher/server/nodes/nodes.h).
struct HttpCluster {
  Nodes* nodes = nullptr;  // null: of no cluster; must outlive it
  bool is_door = false;    // it lets other nodes in, and nobody else; its `config.http_address` is the node's address
  // A connection to this node's RTSP server for whom another node has let in; nothing: there is none now.
  std::function<UniqueFd(const Identity& identity, const std::string& address)> open_rtsp = {};
};

class HttpServer {
 public:
  // A handler for what is at a prefix or below it, such as "/login" or "/api/v1/"; of several that fit, the longest
  // counts. `anyone`: needs no login (the login page, /healthz); `identity` is then of a session, if there is one, else
  // nobody. /cameras/NAME/… and /live are the server's own.
  struct Route {
    std::string prefix;
    bool anyone = false;
    std::function<HttpAnswer(const HttpRequest&)> handle;
  };

  // `listen_at`: the configuration's http_address with its host looked up; empty: that one, as it stands there.
  // `on_listening` gets the port once it is taken, before any request is answered.
  // `tls`: what is served where the configuration has a certificate; the files are not read here.
  // Throws Error where the address cannot be taken.
  HttpServer(const ServerConfig& config, RigView& rig, Access& access, std::vector<Route> routes,
             const HttpLimits& limits = {}, const std::string& listen_at = {},
             const std::function<void(std::uint16_t port)>& on_listening = {}, ServerTls tls = nullptr,
             HttpCluster cluster = {});
  // Ends all connections, within a second; waits for handlers that still run (RigView::close() ends their waits), but
  // for no disk.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Who watches, for the status: [{"camera", "address", "user", "form": "fmp4", "since_utc", "sent", "dropped",
  // "bytes"}]
  [[nodiscard]] nlohmann::json viewers() const;

  // For connections from now on. Not for a server that has none.
  void renew_certificate(ServerTls tls);

  [[nodiscard]] std::uint16_t port() const;  // that it listens at

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace campipe
