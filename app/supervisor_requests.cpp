// What the publisher's servers ask of the supervisor, and what it tells them each second.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "app/supervisor.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto status_interval = std::chrono::seconds(1);

RigAnswer refused(int status, const std::string& why) { return {status, {{"error", why}}}; }

// What the processes were started with.
std::optional<std::string> needs_restart(const RigConfig& before, const RigConfig& after) {
  if (before.worker_count != after.worker_count) return "workers.count";
  if (before.mps != after.mps) return "mps";
  if (before.events != after.events) return "events";
  if (before.server.http_address != after.server.http_address) return "http_address";
  if (before.server.rtsp_address != after.server.rtsp_address) return "rtsp_address";
  if (before.server.tls != after.server.tls) return "tls";
  return std::nullopt;
}

// Messages are small; a status grows with the rig.
UniqueFd in_memory(const std::string& text) {
  UniqueFd fd(::memfd_create("status", MFD_CLOEXEC));
  if (!fd) throw system_error("cannot make memory for the status", errno);
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw system_error("cannot write the status into memory", errno);
  }
  return fd;
}

}  // namespace

void Supervisor::tell_status() {
  next_status_ = Clock::now() + status_interval;
  if (!has_servers() || !publisher().child) return;
  std::vector<ProcessStatus> processes{{"supervisor", ::getpid(), 0, "cpu", 0, own_memory_mib_}};
  for (const Member& member : members_) {
    if (!member.child) continue;
    processes.push_back(
        {role_of(member), member.child->pid(), member.restarts, member.gpu_name, member.cpu_s, member.memory_mib});
  }
  const RigStatus rig{options_.config.filename().string(),
                      std::chrono::duration<double>(Clock::now() - started_).count(),
                      phase_ == Phase::running ? "running" : "draining", processes};
  const UniqueFd text = in_memory(status_.make(rig, cameras_, page_).dump());
  send(publisher(), "status", nlohmann::json::object(), {text.get()});
}

void Supervisor::on_request(const nlohmann::json& request) {
  RigAnswer reply;
  try {
    reply = answer(request);
  } catch (const Error& error) {
    reply = refused(409, error.what());
  }
  send(publisher(), "answer", {{"request", request.at("request")}, {"status", reply.status}, {"body", reply.body}});
  next_status_ = Clock::now();
}

RigAnswer Supervisor::answer(const nlohmann::json& request) {
  const std::string op = request.at("op");
  if (phase_ != Phase::running) return refused(409, "the rig is ending");
  if (op == "reload") return reload();
  if (op == "remove_camera") return remove_camera(request);
  if (op == "enable_camera") return enable_camera(request);
  if (op == "record") return record(request);
  return refused(400, "the rig cannot do '" + op + "'");
}

RigAnswer Supervisor::reload() {
  spdlog::info("reading {} again", options_.config.string());
  RigAnswer reply = take(load_config(options_.config));
  for (const auto& error : reply.body.value("errors", nlohmann::json::array())) {
    spdlog::error("not reloaded: {}", error.get<std::string>());
  }
  if (reply.body.contains("error")) spdlog::error("not reloaded: {}", reply.body["error"].get<std::string>());
  return reply;
}

// All of it, or nothing.
RigAnswer Supervisor::take(const LoadedConfig& loaded) {
  std::vector<ConfigError> errors = loaded.errors;
  if (errors.empty()) errors = check_gpus(loaded, machine_);
  if (!errors.empty()) {
    nlohmann::json lines = nlohmann::json::array();
    for (const ConfigError& error : errors) lines.push_back(format(error, options_.config.string()));
    return {400, {{"errors", lines}}};
  }
  if (const auto key = needs_restart(rig_, loaded.rig)) {
    return refused(409, "'" + *key + "' cannot be changed while the rig runs; restart it");
  }
  apply(loaded.rig);
  rig_.server = loaded.rig.server;
  return {200, nlohmann::json::object()};
}

RigAnswer Supervisor::remove_camera(const nlohmann::json& request) {
  CameraState* camera = find_camera(request.at("name"));
  if (camera == nullptr) return refused(404, "there is no such camera");
  retire(*camera, std::nullopt);
  return {200, nlohmann::json::object()};
}

RigAnswer Supervisor::enable_camera(const nlohmann::json& request) {
  CameraState* camera = find_camera(request.at("name"));
  if (camera == nullptr) return refused(404, "there is no such camera");
  CameraConfig config = camera->retiring && camera->successor ? *camera->successor : camera->config;
  config.enabled = request.at("on");
  if (camera->retiring || config.enabled != camera->config.enabled) retire(*camera, config);
  return {200, {{"enabled", config.enabled}}};
}

// Of all its outputs that record.
RigAnswer Supervisor::record(const nlohmann::json& request) {
  CameraState* camera = find_camera(request.at("name"));
  if (camera == nullptr) return refused(404, "there is no such camera");
  const bool on = request.at("on");
  bool any = false;
  for (const unsigned output : camera->outputs) {
    CameraState& state = cameras_[output];
    if (!state.config.record) continue;
    any = true;
    state.recording_on = on;
    send(publisher(), "record", {{"camera", output}, {"on", on}});
  }
  if (!any) return refused(409, "its configuration has no 'record'");
  return {200, {{"recording", on}}};
}

}  // namespace campipe
