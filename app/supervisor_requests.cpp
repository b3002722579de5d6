// What the publisher's servers ask of the supervisor, and what it tells them each second.
#include <unistd.h>

#include <algorithm>

#include "app/config_address.h"
#include "app/report.h"
#include "app/supervisor.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto status_interval = std::chrono::seconds(1);
constexpr std::size_t most_errors = 100;                  // are told of a configuration
constexpr auto longest_start = std::chrono::seconds(10);  // then the service is ready with what runs

RigAnswer refused(int status, const std::string& why) { return {status, {{"error", why}}}; }

// What the processes were started with.
std::optional<std::string> needs_restart(const RigConfig& before, const RigConfig& after) {
  if (before.worker_count != after.worker_count) return "workers.count";
  if (before.mps != after.mps) return "mps";
  if (before.events != after.events) return "events";
  if (before.server.http_address != after.server.http_address) return "http_address";
  if (before.server.rtsp_address != after.server.rtsp_address) return "rtsp_address";
  if (before.server.tls != after.server.tls) return "tls";
  if (before.server.trusted_proxies != after.server.trusted_proxies) return "trusted_proxies";
  return std::nullopt;
}

}  // namespace

// Without it the rig runs all the same.
void Supervisor::make_token() {
  const auto address = split_listen_address(rig_.server.http_address);
  if (!address) return;  // HTTP is off
  try {
    token_.emplace(address->port);
  } catch (const Error& error) {
    spdlog::warn("cameras can be changed through the API only by users who administer all of them: {}", error.what());
  }
}

// For systemd: ready when every camera has shown what becomes of it.
void Supervisor::tell_service() {
  unsigned cameras = 0;
  unsigned run = 0;
  bool starting = false;
  for (const CameraState& camera : cameras_) {
    if (camera.follows || !takes_part(camera)) continue;
    ++cameras;
    run += camera.state == CameraState::State::running ? 1 : 0;
    starting = starting || camera.state == CameraState::State::starting;
  }
  if (starting && Clock::now() - started_ < longest_start) return;
  service_.ready(std::to_string(run) + " of " + std::to_string(cameras) + " cameras run");
}

void Supervisor::tell_status() {
  next_status_ = Clock::now() + status_interval;
  if (phase_ == Phase::running) tell_service();
  if (!serves(rig_.server) || !publisher().child) return;
  std::vector<ProcessStatus> processes{{"supervisor", ::getpid(), 0, "cpu", 0, own_memory_mib_}};
  for (const Member& member : members_) {
    if (!member.child) continue;
    processes.push_back(
        {role_of(member), member.child->pid(), member.restarts, member.gpu_name, member.cpu_s, member.memory_mib});
  }
  const RigStatus rig{options_.config.filename().string(),
                      std::chrono::duration<double>(Clock::now() - started_).count(),
                      phase_ == Phase::running ? "running" : "draining", processes};
  for (const CameraState& camera : cameras_) {
    if (takes_part(camera)) pass_on(latencies_of(page_, camera), page_.shared(camera.index));
  }
  // One that is slow gets the next one.
  if (!publisher().child->outbox().waiting()) send(publisher(), "status", status_.make(rig, cameras_, page_));
}

void Supervisor::on_request(const nlohmann::json& request) {
  RigAnswer reply;
  try {
    reply = answer(request);
  } catch (const Error& error) {
    reply = refused(409, error.what());
  } catch (const std::exception& error) {
    spdlog::error("a request failed: {}", error.what());
    reply = refused(500, error.what());
  }
  send(publisher(), "answer", {{"request", request.at("request")}, {"status", reply.status}, {"body", reply.body}});
  next_status_ = Clock::now();
}

RigAnswer Supervisor::answer(const nlohmann::json& request) {
  const std::string op = request.at("op");
  if (phase_ != Phase::running) return refused(409, "the rig is ending");
  if (op == "reload") return reload();
  if (op == "put_camera") return put_camera(request);
  if (op == "remove_camera") return remove_camera(request);
  if (op == "enable_camera") return enable_camera(request);
  if (op == "record") return record(request);
  return refused(400, "the rig cannot do '" + op + "'");
}

// What was changed since it was read last is forgotten, unless it was to last.
RigAnswer Supervisor::reload() {
  spdlog::info("reading {} again", options_.config.string());
  service_.reloading();
  RigAnswer reply;
  try {
    reply = take(load_config(options_.config));
  } catch (const std::exception& error) {  // no room for a camera: SIGHUP has nobody above who would hear it
    reply = refused(409, error.what());
  }
  if (reply.status == 200) changes_ = {};
  for (const auto& error : reply.body.value("errors", nlohmann::json::array())) {
    spdlog::error("not reloaded: {}", error.get<std::string>());
  }
  if (reply.body.contains("error")) spdlog::error("not reloaded: {}", reply.body["error"].get<std::string>());
  tell_service();
  return reply;
}

// Nothing: it is good.
std::optional<RigAnswer> Supervisor::check(const LoadedConfig& loaded) const {
  std::vector<ConfigError> errors = loaded.errors;
  if (errors.empty()) errors = check_gpus(loaded, machine_);
  if (errors.empty()) return std::nullopt;
  nlohmann::json lines = nlohmann::json::array();
  for (const ConfigError& error : errors) {
    if (lines.size() == most_errors) break;
    lines.push_back(format(error, options_.config.string()));
  }
  if (errors.size() > most_errors) {
    lines.push_back("and " + std::to_string(errors.size() - most_errors) + " more mistakes");
  }
  return RigAnswer{400, {{"errors", lines}}};
}

// All of it, or nothing.
RigAnswer Supervisor::take(const LoadedConfig& loaded) {
  if (const auto refusal = check(loaded)) return *refusal;
  if (const auto key = needs_restart(rig_, loaded.rig)) {
    return refused(409, "'" + *key + "' cannot be changed while the rig runs; restart it");
  }
  apply(loaded.rig);
  send(publisher(), "server", to_json(loaded.rig.server));  // also where it is the same: certificates are read anew
  rig_.server = loaded.rig.server;
  return {200, nlohmann::json::object()};
}

// `persist`: also for the next start. Throws Error where that cannot be written.
void Supervisor::remember(const CameraChanges& change, bool persist) {
  if (persist) keep_changes(options_.config, change);
  changes_.add(change);
}

RigAnswer Supervisor::put_camera(const nlohmann::json& request) {
  const std::string name = request.at("name");
  CameraChanges change;
  change.put(name, request.at("config"));
  CameraChanges all = changes_;
  all.add(change);
  const LoadedConfig loaded = load_config_with(options_.config, all);
  if (const auto refusal = check(loaded)) return *refusal;
  const auto config = std::ranges::find(loaded.rig.cameras, name, &CameraConfig::name);
  if (config == loaded.rig.cameras.end()) return refused(400, "no camera came of it");
  require_room({config, 1});
  remember(change, request.value("persist", false));
  CameraState* camera = find_camera(name);
  if (camera == nullptr) {
    add_camera(*config);
    return {201, nlohmann::json::object()};
  }
  if (camera->retiring || !(camera->config == *config)) retire(*camera, *config);
  return {200, nlohmann::json::object()};
}

RigAnswer Supervisor::remove_camera(const nlohmann::json& request) {
  const std::string name = request.at("name");
  CameraState* camera = find_camera(name);
  if (camera == nullptr) return refused(404, "there is no such camera");
  CameraChanges change;
  change.remove(name);
  remember(change, request.value("persist", false));
  retire(*camera, std::nullopt);
  return {200, nlohmann::json::object()};
}

RigAnswer Supervisor::enable_camera(const nlohmann::json& request) {
  const std::string name = request.at("name");
  CameraState* camera = find_camera(name);
  if (camera == nullptr) return refused(404, "there is no such camera");
  CameraConfig config = camera->retiring && camera->successor ? *camera->successor : camera->config;
  config.enabled = request.at("on");
  CameraChanges change;
  change.enable(name, config.enabled);
  remember(change, request.value("persist", false));
  if (camera->retiring || config.enabled != camera->config.enabled) retire(*camera, config);
  return {200, {{"enabled", config.enabled}}};
}

// Of all its outputs that record.
RigAnswer Supervisor::record(const nlohmann::json& request) {
  CameraState* camera = find_camera(request.at("name"));
  if (camera == nullptr) return refused(404, "there is no such camera");
  const bool on = request.at("on");
  bool any = false;
  bool lives = false;
  for (const unsigned output : camera->outputs) {
    CameraState& state = cameras_[output];
    if (!state.config.record) continue;
    any = true;
    if (!has_camera(publisher(), state)) continue;
    lives = true;
    state.recording_on = on;
    if (!on) state.recording_paused.clear();
    send_for(publisher(), state, "record", {{"on", on}});
  }
  if (!any) return refused(409, "its configuration has no 'record'");
  if (!lives) return refused(409, camera->state == CameraState::State::disabled ? "it is disabled" : "it has ended");
  return {200, {{"recording", on}}};
}

}  // namespace campipe
