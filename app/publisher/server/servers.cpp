#include "app/publisher/server/servers.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "app/config/address.h"
#include "app/config/serves.h"
#include "app/control/descriptor_limit.h"
#include "app/control/messages/answer.h"
#include "app/control/messages/shared_links.h"
#include "app/publisher/server/live/shown_times.h"
#include "app/publisher/server/page.h"
#include "app/publisher/server/rtsp/local_pair.h"
#include "app/publisher/server/wall_login.h"
#include "core/error.h"
#include "core/log.h"
#include "ipc/publish_block.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {

constexpr auto retry_interval = std::chrono::seconds(5);

// Who asks by RTSP what a stream is gets no answer before there is one; and its players need no other codec.
bool has_rtsp(const ResolvedOutput& config) { return !config.on_demand; }

// What is known here only: how old a snapshot of the stream would be.
void add_newest_frame(nlohmann::json& output, const RigView& rig, const std::string& name) {
  const auto stream = rig.stream(name);
  const auto newest = stream ? stream->newest_times() : std::nullopt;
  if (!newest) return;
  const ShownTimes times(*newest);
  output["newest_frame"] = {
      {"capture_utc", times.capture_utc}, {"capture_clock", times.capture_clock}, {"age_s", times.age_s}};
}

}  // namespace

Servers::Servers(const ServerConfig& config, const std::optional<ClusterConfig>& cluster, const RigPage& page,
                 const RigView::Send& send)
    : config_(config),
      page_(page),
      rig_(send),
      access_(config),
      node_(cluster ? std::make_unique<NodePart>(*cluster, rig_) : nullptr),
      api_(
          rig_, access_, [this] { return viewers(); }, node_ ? &node_->nodes : nullptr, node_ ? &node_->wall : nullptr),
      metrics_(rig_, page, gpus_, [this] { return viewers(); }),
      tls_(config.tls),
      token_(access_),
      sessions_(access_) {}

// The servers' threads use what is declared before them.
Servers::~Servers() {
  rig_.close();
  std::unique_lock lock(mutex_);
  const auto http = std::move(http_);
  const auto door = std::move(door_);
  const auto rtsp = std::move(rtsp_);
  lock.unlock();  // a handler that still runs may ask who watches
}

nlohmann::json Servers::viewers() const {
  const std::lock_guard lock(mutex_);
  nlohmann::json all = http_ ? http_->viewers() : nlohmann::json::array();
  if (door_) {
    for (auto& viewer : door_->viewers()) all.push_back(std::move(viewer));
  }
  if (!rtsp_) return all;
  for (auto& viewer : rtsp_->viewers()) all.push_back(std::move(viewer));
  return all;
}

std::shared_ptr<LiveStream> Servers::add(OutputId output, const ResolvedOutput& config) {
  if (!serves(config_, node_ ? std::optional(node_->config) : std::nullopt)) return nullptr;
  Audience& audience = page_.publish(output).audience;
  audience.watches = 0;  // who watched a publisher before is gone
  const auto on_audience = [&audience](bool watched) {
    audience.watches = watched ? 1 : 0;
    if (watched) audience.arrivals.fetch_add(1);
  };
  auto stream = std::make_shared<LiveStream>(on_audience, config.name);
  cameras_[output] = config;
  rig_.add_stream(config.name, stream);
  api_.add(config);
  metrics_.add(output, config.name);
  if (rtsp_ && has_rtsp(config)) rtsp_->add(config.name);
  return stream;
}

void Servers::remove(OutputId output) {
  const auto gone = cameras_.extract(output);
  if (!gone) return;
  if (rtsp_) rtsp_->remove(gone.mapped().name);
  metrics_.remove(output);
  rig_.remove_stream(gone.mapped().name);
}

void Servers::set_status(nlohmann::json status) {
  std::map<std::string, unsigned> watched;
  for (const auto& viewer : viewers()) ++watched[viewer.value("camera", "")];
  for (auto& [name, camera] : status.at("cameras").items()) {
    camera["viewers"] = watched[name];
    add_newest_frame(camera, rig_, name);
    if (!camera.contains("outputs")) continue;
    for (auto& [output, its] : camera["outputs"].items()) add_newest_frame(its, rig_, name + "/" + output);
  }
  status["gpus"] = to_json(gpus_.read());
  if (!config_.rtsp_address.empty())
    status["rtsp"] = {{"address", config_.rtsp_address}, {"tls", config_.tls.has_value()}};
  if (node_) {
    node_->nodes.set_status(status);
    node_->clocks.add_to(status.at("cluster"));
  }
  rig_.set_status(std::move(status));
}

void Servers::share_links(messages::ShareLinks shared) {
  if (node_) node_->links.set(std::move(shared));
}

std::vector<messages::PeerLinks> Servers::take_peer_links() {
  return node_ ? node_->links.tick() : std::vector<messages::PeerLinks>();
}

void Servers::on_answer(const messages::Answer& answer) { rig_.on_answer(answer); }

void Servers::update(const ServerConfig& config) {
  config_.users = config.users;
  config_.sessions = config.sessions;
  access_.update(config);
  // Certificates do not last: the files may be others than before.
  if (config.tls) tls_.renew(*config.tls);
  if (node_ && node_->config.tls) node_->tls.renew(*node_->config.tls);
}

void Servers::tick() {
  api_.tick();
  token_.tick();
  sessions_.tick();
  if (tls_.tick()) {
    if (http_) http_->renew_certificate(tls_.newest());
    if (rtsp_) rtsp_->renew_certificate(tls_.newest());
  }
  if (node_) {
    start_door();
    node_->clocks.tick();
  }
  if (tls_.is_missing()) return;
  if (!http_ && !config_.http_address.empty()) start_http();
  if (!rtsp_ && !config_.rtsp_address.empty()) start_rtsp();
}

// The same with an address in digits; nothing: that is not known yet. Throws Error where there is none.
std::optional<std::string> Servers::find_address(const std::string& configured, Listener& listener) {
  const auto place = split_listen_address(configured);
  if (!place || place->host.empty()) return configured;
  if (!listener.lookup) listener.lookup.emplace(place->host);
  const auto found = listener.lookup->result();
  if (!found) return std::nullopt;
  listener.lookup.reset();  // the next time it may be another one
  if (!found->problem.empty()) throw Error(configured + ": the host is not found: " + found->problem);
  const bool ipv6 = found->address.find(':') != std::string::npos;
  return (ipv6 ? "[" + found->address + "]" : found->address) + ":" + std::to_string(place->port);
}

// `start`: with the address in digits.
template <typename Start>
void Servers::try_to(Listener& listener, const std::string& configured, const Start& start) {
  if (Clock::now() < listener.next_try) return;
  try {
    const auto address = find_address(configured, listener);
    if (!address) return;
    start(*address);
    listener.problem.clear();
  } catch (const Error& error) {
    listener.next_try = Clock::now() + retry_interval;
    if (listener.problem == error.what()) return;
    listener.problem = error.what();
    spdlog::error("{} is not served, and tried again: {}", listener.what, listener.problem);
  }
}

void Servers::start_http() {
  try_to(http_listener_, config_.http_address, [&](const std::string& address) {
    std::vector<HttpServer::Route> routes = api_.routes();
    for (const char* prefix : page_prefixes) {
      routes.push_back({prefix, true, [this](const HttpRequest& request) {
                          if (brings_token(request)) return log_in_wall(request, access_);
                          HttpAnswer answer = page_route(request);
                          renew_wall_cookie(request, access_, answer);
                          return answer;
                        }});
    }
    std::ranges::move(metrics_.routes(), std::back_inserter(routes));
    HttpLimits limits;
    limits.connections = most_viewers(limits.connections);
    auto server = std::make_unique<HttpServer>(
        config_, rig_, access_, std::move(routes), limits, address,
        [this](std::uint16_t port) {
          token_.issue(port);
          sessions_.open(port);
        },
        tls_.newest(), HttpCluster{node_ ? &node_->nodes : nullptr, false});
    const std::lock_guard lock(mutex_);
    http_ = std::move(server);
    spdlog::info("watch at {}://{}/", config_.tls ? "https" : "http", config_.http_address);
  });
}

// Without TLS only where this machine alone reaches it (app/config/cluster.cpp sees to that, too). Logins and pages are
// for no node.
void Servers::start_door() {
  NodePart& node = *node_;
  if (node.tls.tick()) {
    node.nodes.set_tls(node.tls.newest());
    if (door_) door_->renew_certificate(node.tls.newest());
  }
  if (door_ || node.tls.is_missing()) return;
  try_to(node.listener, node.config.address, [&](const std::string& address) {
    const auto place = split_listen_address(address);
    if (!node.config.tls && (!place || !is_loopback(*place)))
      throw Error(node.config.address + " is more than this machine's own address, which takes `cluster.tls`");
    ServerConfig config = config_;
    config.http_address = node.config.address;
    config.tls.reset();
    if (node.config.tls) config.tls = TlsConfig{node.config.tls->certificate, node.config.tls->key};
    std::vector<HttpServer::Route> routes = api_.routes();
    std::erase_if(routes, [](const HttpServer::Route& route) { return route.anyone; });
    routes.push_back(clock_route());
    routes.push_back(node.links.route());
    const auto open_rtsp = [this](const Identity& identity, const std::string& from) {
      return this->open_rtsp(identity, from);
    };
    HttpLimits limits;
    limits.connections = most_viewers(limits.connections);
    auto server = std::make_unique<HttpServer>(config, rig_, access_, std::move(routes), limits, address,
                                               std::function<void(std::uint16_t)>(), node.tls.newest(),
                                               HttpCluster{&node.nodes, true, open_rtsp});
    const std::lock_guard lock(mutex_);
    door_ = std::move(server);
    spdlog::info("other nodes come in at {}{}", node.config.address, node.config.tls ? "" : ", without TLS");
    if (!node.config.tls && access_.required())
      spdlog::warn("without `cluster.tls` no other node is answered as long as there are users");
  });
}

UniqueFd Servers::open_rtsp(const Identity& identity, const std::string& address) const {
  const std::lock_guard lock(mutex_);
  auto ends = rtsp_ ? local_pair() : std::nullopt;
  if (!ends) return {};
  rtsp_->let_in(std::move(ends->second), identity, address);
  return std::move(ends->first);
}

void Servers::start_rtsp() {
  try_to(rtsp_listener_, config_.rtsp_address, [&](const std::string& address) {
    ServerConfig found = config_;
    found.rtsp_address = address;
    std::set<std::string> streams;
    for (const auto& [camera, config] : cameras_) {
      if (has_rtsp(config)) streams.insert(config.name);
    }
    auto server = std::make_unique<RtspServer>(found, rig_, access_, std::move(streams), RtspLimits(), tls_.newest(),
                                               node_ ? &node_->nodes : nullptr);
    const std::lock_guard lock(mutex_);
    rtsp_ = std::move(server);
  });
}

}  // namespace campipe
