#include "app/publisher/server/servers.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "app/config/address.h"
#include "app/control/descriptor_limit.h"
#include "app/publisher/server/page.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto retry_interval = std::chrono::seconds(5);

// Who asks by RTSP what a stream is gets no answer before there is one; and its players need no other codec.
bool has_rtsp(const ResolvedOutput& config) { return !config.on_demand; }

}  // namespace

Servers::Servers(const ServerConfig& config, const RigPage& page, const RigView::Send& send)
    : config_(config),
      page_(page),
      rig_(send),
      access_(config),
      api_(rig_, access_, [this] { return viewers(); }),
      metrics_(rig_, page, gpus_, [this] { return viewers(); }),
      tls_(config.tls),
      token_(access_) {}

// The servers' threads use what is declared before them.
Servers::~Servers() {
  rig_.close();
  std::unique_lock lock(mutex_);
  const auto http = std::move(http_);
  const auto rtsp = std::move(rtsp_);
  lock.unlock();  // a handler that still runs may ask who watches
}

nlohmann::json Servers::viewers() const {
  const std::lock_guard lock(mutex_);
  nlohmann::json all = http_ ? http_->viewers() : nlohmann::json::array();
  if (!rtsp_) return all;
  for (auto& viewer : rtsp_->viewers()) all.push_back(std::move(viewer));
  return all;
}

std::shared_ptr<LiveStream> Servers::add(OutputId output, const ResolvedOutput& config) {
  if (!serves(config_)) return nullptr;
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
  for (auto& [name, camera] : status.at("cameras").items()) camera["viewers"] = watched[name];
  status["gpus"] = to_json(gpus_.read());
  if (!config_.rtsp_address.empty())
    status["rtsp"] = {{"address", config_.rtsp_address}, {"tls", config_.tls.has_value()}};
  rig_.set_status(std::move(status));
}

void Servers::on_answer(const messages::Answer& answer) { rig_.on_answer(answer); }

void Servers::update(const ServerConfig& config) {
  config_.users = config.users;
  access_.update(config);
  // Certificates do not last: the files may be others than before.
  if (config.tls) tls_.renew(*config.tls);
}

void Servers::tick() {
  api_.tick();
  token_.tick();
  if (tls_.tick()) {
    if (http_) http_->renew_certificate(tls_.newest());
    if (rtsp_) rtsp_->renew_certificate(tls_.newest());
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
    for (const char* prefix : {"/", "/login", "/camera/", "/recordings", "/system", "/static/"}) {
      routes.push_back({prefix, true, page_route});
    }
    std::ranges::move(metrics_.routes(), std::back_inserter(routes));
    HttpLimits limits;
    limits.connections = most_viewers(limits.connections);
    auto server = std::make_unique<HttpServer>(
        config_, rig_, access_, std::move(routes), limits, address, [this](std::uint16_t port) { token_.issue(port); },
        tls_.newest());
    const std::lock_guard lock(mutex_);
    http_ = std::move(server);
    spdlog::info("watch at {}://{}/", config_.tls ? "https" : "http", config_.http_address);
  });
}

void Servers::start_rtsp() {
  try_to(rtsp_listener_, config_.rtsp_address, [&](const std::string& address) {
    ServerConfig found = config_;
    found.rtsp_address = address;
    std::set<std::string> streams;
    for (const auto& [camera, config] : cameras_) {
      if (has_rtsp(config)) streams.insert(config.name);
    }
    auto server = std::make_unique<RtspServer>(found, rig_, access_, std::move(streams), RtspLimits(), tls_.newest());
    const std::lock_guard lock(mutex_);
    rtsp_ = std::move(server);
  });
}

}  // namespace campipe
