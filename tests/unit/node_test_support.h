// Nodes of a cluster as their servers are, with rigs that say what a test says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/config/password_hash.h"
#include "app/control/messages/answer.h"
#include "app/control/messages/requests.h"
#include "app/publisher/server/api/api.h"
#include "app/publisher/server/http/server.h"
#include "app/publisher/server/nodes/clocks.h"
#include "app/publisher/server/nodes/wall.h"
#include "app/publisher/server/rtsp/local_pair.h"
#include "app/publisher/server/rtsp/server.h"
#include "tests/unit/command_output.h"
#include "tests/unit/http_client.h"
#include "tests/unit/live_camera.h"
#include "tests/unit/node_authority.h"

namespace campipe::test {

inline UserConfig node_user(const std::string& name, Permission may, std::vector<std::string> cameras = {}) {
  static const std::string hash = hash_password("hunter2");
  UserConfig config;
  config.name = name;
  config.password = hash;
  config.may = may;
  config.cameras = std::move(cameras);
  return config;
}

inline std::string login_of(const std::string& user) {
  return "Authorization: Basic " + output_of("printf %s '" + user + ":hunter2' | base64 -w0") + "\r\n";
}

class TestNode {
 public:
  // `cameras`: that it runs.
  TestNode(std::string name, std::vector<UserConfig> users, std::vector<std::string> cameras,
           const std::optional<ClusterTlsConfig>& tls = {}, const HttpLimits& limits = {})
      : name_(std::move(name)), cameras_(std::move(cameras)), limits_(limits), nodes_(tls.has_value()) {
    config_.http_address = "127.0.0.1:0";
    config_.users = std::move(users);
    access_.update(config_);
    ServerConfig door = config_;
    if (tls) {
      tls_ = open_server_tls(*tls);
      nodes_.set_tls(tls_);
      door.tls = TlsConfig{tls->certificate, tls->key};
    }
    std::vector<HttpServer::Route> routes = api_.routes();
    std::erase_if(routes, [](const HttpServer::Route& route) { return route.anyone; });
    routes.push_back(clock_route());
    door_.emplace(door, rig_, access_, routes, limits_, "", std::function<void(std::uint16_t)>(), tls_,
                  HttpCluster{&nodes_, true, [this](const Identity& identity, const std::string& from) {
                                return open_rtsp(identity, from);
                              }});
    http_.emplace(config_, rig_, access_, api_.routes(), limits_, "", std::function<void(std::uint16_t)>(), nullptr,
                  HttpCluster{&nodes_, false});
  }
  ~TestNode() { rig_.close(); }
  TestNode(const TestNode&) = delete;
  TestNode& operator=(const TestNode&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint16_t port() const { return http_->port(); }
  [[nodiscard]] std::uint16_t door() const { return door_->port(); }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(door()); }
  void close_door() { door_.reset(); }
  // One of its cameras, as long as the node lives.
  void show(const std::string& camera, const LiveCamera& live) {
    rig_.add_stream(camera, live.stream());
    streams_.insert(camera);
  }
  // With what it shows. `tls`: its clients' certificate.
  void serve_rtsp(const std::optional<TlsConfig>& tls = {}) {
    config_.rtsp_address = "127.0.0.1:" + std::to_string(rtsp_port_);
    config_.tls = tls;
    rtsp_.emplace(config_, rig_, access_, streams_, RtspLimits(), tls ? open_server_tls(*tls) : nullptr, &nodes_);
  }
  [[nodiscard]] int rtsp_port() const { return rtsp_port_; }

  // Where the cluster's cameras are to be, by node.
  void see(const std::map<std::string, std::string>& addresses, const std::map<std::string, std::string>& plan) {
    nlohmann::json status{{"time_utc", "2026-11-21T10:15:30.250Z"}, {"state", "running"}, {"version", "0.1.0"}};
    status["cameras"] = nlohmann::json::object();
    for (const std::string& camera : cameras_) {
      status["cameras"][camera] = {{"state", "running"},
                                   {"reason", ""},
                                   {"since_utc", "2026-11-21T10:15:30.250Z"},
                                   {"source", "rtsp://10.0.0.9/" + camera}};
    }
    nlohmann::json cluster{{"cluster", "hall"},
                           {"node", name_},
                           {"planner", ""},
                           {"rig", {{"revision", 1}, {"problem", ""}}},
                           {"etcd", {{"up", true}, {"full", nullptr}, {"problem", nullptr}}},
                           {"nodes", nlohmann::json::object()},
                           {"cameras", nlohmann::json::object()}};
    for (const auto& [node, address] : addresses)
      cluster["nodes"][node] = {{"here", !address.empty()}, {"address", address}};
    for (const auto& [camera, node] : plan) cluster["cameras"][camera] = {{"node", node}};
    status["cluster"] = std::move(cluster);
    nodes_.set_status(status);
    rig_.set_status(std::move(status));
  }
  void set_cameras(std::vector<std::string> cameras) { cameras_ = std::move(cameras); }
  void set_users(std::vector<UserConfig> users) {
    config_.users = std::move(users);
    access_.update(config_);
  }
  void record(const ResolvedOutput& output) { api_.add(output); }
  [[nodiscard]] std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  Nodes& nodes() { return nodes_; }

 private:
  UniqueFd open_rtsp(const Identity& identity, const std::string& from) {
    auto ends = rtsp_ ? local_pair() : std::nullopt;
    if (!ends) return {};
    rtsp_->let_in(std::move(ends->second), identity, from);
    return std::move(ends->first);
  }

  const std::string name_;
  std::vector<std::string> cameras_;
  const HttpLimits limits_;
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;  // of the rig's supervisor
  ServerConfig config_;
  RigView rig_{[this](const messages::Request& request) {
    std::visit(
        [this]<typename M>(const M& asked) {
          {
            const std::lock_guard lock(mutex_);
            asked_.emplace_back(M::type);
          }
          messages::Answer answer{200, {{"done", true}}};
          answer.request = asked.request;
          rig_.on_answer(answer);
        },
        request);
  }};
  Access access_{config_};
  Nodes nodes_;
  NodesWall wall_{rig_, nodes_};
  Api api_{rig_, access_, [] { return nlohmann::json::array(); }, &nodes_, &wall_};
  ServerTls tls_;
  std::set<std::string> streams_;
  const int rtsp_port_ = free_port();
  std::optional<RtspServer> rtsp_;
  std::optional<HttpServer> door_;
  std::optional<HttpServer> http_;
};

// Of two nodes, which know where the other one is.
inline void introduce(TestNode& one, TestNode& other, const std::map<std::string, std::string>& plan) {
  const std::map<std::string, std::string> addresses{{one.name(), one.address()}, {other.name(), other.address()}};
  one.see(addresses, plan);
  other.see(addresses, plan);
}

}  // namespace campipe::test
