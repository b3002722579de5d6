// Changes of the configuration while the rig runs, one after the other: SIGHUP, and what the API asks for. The file,
// its overlay and encoders are looked at in a process of their own (app/control/load_process.h), for which the loop
// does not wait.
#include <algorithm>
#include <utility>

#include "app/supervisor/supervisor.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr std::size_t most_errors = 100;  // are told of a configuration
constexpr std::size_t most_changes = 64;  // wait

// What the processes were started with.
std::optional<std::string> needs_restart(const RigConfig& before, const RigConfig& after) {
  if (before.worker_count != after.worker_count) return "workers.count";
  if (before.mps != after.mps) return "mps";
  if (before.events != after.events) return "events";
  if (before.umask != after.umask) return "umask";
  if (before.server.http_address != after.server.http_address) return "http_address";
  if (before.server.rtsp_address != after.server.rtsp_address) return "rtsp_address";
  if (before.server.tls != after.server.tls) return "tls";
  if (before.server.trusted_proxies != after.server.trusted_proxies) return "trusted_proxies";
  return std::nullopt;
}

bool is_reload(const messages::ConfigChange& change) { return std::holds_alternative<messages::Reload>(change); }

std::uint64_t number_of(const messages::ConfigChange& change) {
  return std::visit([](const auto& asked) { return asked.request; }, change);
}

}  // namespace

// Answered when it has been made. `asker`: the publisher whose servers ask; 0: SIGHUP does.
void Supervisor::ask_for_change(messages::ConfigChange change, pid_t asker) {
  if (changes_waiting_.size() == most_changes) {
    return send_answer(asker, number_of(change), refused(409, "too many changes wait already; try again later"));
  }
  changes_waiting_.push_back({std::move(change), asker});
}

// Of several that come at once all but the last would be for nothing.
void Supervisor::reload_on_signal() {
  const auto begun = static_cast<std::ptrdiff_t>(load_ ? 1 : 0);
  const bool waits = std::any_of(changes_waiting_.begin() + begun, changes_waiting_.end(),
                                 [](const WaitingChange& change) { return change.asker == 0; });
  if (!waits) ask_for_change(messages::Reload(), 0);
}

bool Supervisor::reloading() const { return load_ && is_reload(changes_waiting_.front().change); }

void Supervisor::go_on_with_changes() {
  if (phase_ != Phase::running) return refuse_changes();
  if (load_) {
    const auto loaded = load_->look();
    if (!loaded) return;
    left_behind_ = std::move(load_);
    do_step([&, then = std::exchange(then_, nullptr)] { return then(*loaded); });
  }
  while (!load_ && !changes_waiting_.empty()) {
    do_step([this] {
      return std::visit([this](const auto& asked) { return begin(asked); }, changes_waiting_.front().change);
    });
  }
}

// Of the change at the front. With an answer it is over; without, it goes on when load_ has ended.
void Supervisor::do_step(const std::function<std::optional<messages::Answer>()>& step) {
  const auto answer = answer_of(step);
  if (!answer) return;
  const WaitingChange done = std::move(changes_waiting_.front());
  changes_waiting_.pop_front();
  if (is_reload(done.change)) end_reload(*answer);
  send_answer(done.asker, number_of(done.change), *answer);
}

std::optional<messages::Answer> Supervisor::begin(const messages::Reload&) {
  spdlog::info("reading {} again", options_.config.string());
  service_.reloading();
  begin_load({options_.config}, [this](const LoadedConfig& loaded) { return take(loaded); });
  return std::nullopt;
}

void Supervisor::refuse_changes() {
  load_.reset();
  then_ = nullptr;
  for (const WaitingChange& waiting : std::exchange(changes_waiting_, {})) {
    send_answer(waiting.asker, number_of(waiting.change), refused(409, "the rig is ending"));
  }
}

// Throws Error.
void Supervisor::begin_load(const LoadJob& job, AfterLoad then) {
  if (left_behind_ && !left_behind_->gone()) {
    throw Error(
        "the process that was to read or write it before cannot be ended: it waits for a disk that does not "
        "answer; mend that first");
  }
  left_behind_.reset();
  reserve_.release();
  load_ = std::make_unique<LoadProcess>(job, log_write_.get());
  then_ = std::move(then);
}

// What was changed since it was read last is forgotten, unless it was to last.
void Supervisor::end_reload(const messages::Answer& answer) {
  if (answer.status == 200) changes_ = {};
  for (const auto& error : answer.body.value("errors", nlohmann::json::array())) {
    spdlog::error("not reloaded: {}", error.get<std::string>());
  }
  if (answer.body.contains("error")) spdlog::error("not reloaded: {}", answer.body["error"].get<std::string>());
  tell_service();
}

// Nothing: it is good.
std::optional<messages::Answer> Supervisor::check(const LoadedConfig& loaded) const {
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
  return messages::Answer{400, {{"errors", lines}}};
}

// All of it, or nothing.
messages::Answer Supervisor::take(const LoadedConfig& loaded) {
  if (const auto refusal = check(loaded)) return *refusal;
  if (const auto key = needs_restart(rig_, loaded.rig)) {
    return refused(409, "'" + *key + "' cannot be changed while the rig runs; restart it");
  }
  const nlohmann::json changes = apply(loaded.rig);
  send(publisher(),
       messages::ChangeServer{loaded.rig.server});  // also where it is the same: certificates are read anew
  rig_.server = loaded.rig.server;
  return {200, changes};
}

// What is to last is written first: what cannot be kept is not made.
std::optional<messages::Answer> Supervisor::make_change(const CameraChanges& change, bool persist,
                                                        const std::function<messages::Answer()>& make) {
  const auto remember_and_make = [this, change, make] {
    changes_.add(change);
    return make();
  };
  if (!persist) return remember_and_make();
  begin_load({options_.config, change, true}, [remember_and_make](const LoadedConfig& kept) {
    return kept.errors.empty() ? remember_and_make() : refused(409, kept.errors.front().message);
  });
  return std::nullopt;
}

std::optional<messages::Answer> Supervisor::begin(const messages::PutCamera& asked) {
  const std::string name = asked.name;
  const bool persist = asked.persist;
  CameraChanges change;
  change.put(name, asked.config);
  CameraChanges all = changes_;
  all.add(change);
  begin_load({options_.config, all}, [=, this](const LoadedConfig& loaded) -> std::optional<messages::Answer> {
    if (const auto refusal = check(loaded)) return refusal;
    const auto config = std::ranges::find(loaded.rig.cameras, name, &CameraConfig::name);
    if (config == loaded.rig.cameras.end()) return refused(400, "no camera came of it");
    require_room({config, 1});
    return make_change(change, persist, [this, config = *config] { return make_camera_be(config); });
  });
  return std::nullopt;
}

messages::Answer Supervisor::make_camera_be(const CameraConfig& config) {
  CameraState* camera = find_camera(config.name);
  if (camera == nullptr) {
    add_camera(config);
    return {201, nlohmann::json::object()};
  }
  if (camera->retiring || !(camera->asked == config)) retire(*camera, config);
  return {200, nlohmann::json::object()};
}

std::optional<messages::Answer> Supervisor::begin(const messages::RemoveCamera& asked) {
  const std::string name = asked.name;
  if (find_camera(name) == nullptr) return refused(404, "there is no such camera");
  CameraChanges change;
  change.remove(name);
  return make_change(change, asked.persist, [this, name]() -> messages::Answer {
    if (CameraState* camera = find_camera(name)) retire(*camera, std::nullopt);
    return {200, nlohmann::json::object()};
  });
}

std::optional<messages::Answer> Supervisor::begin(const messages::EnableCamera& asked) {
  const std::string name = asked.name;
  const bool on = asked.on;
  const CameraState* found = find_camera(name);
  if (found == nullptr) return refused(404, "there is no such camera");
  CameraConfig wanted = found->retiring && found->successor ? *found->successor : found->asked;
  wanted.enabled = on;
  if (on) require_room({&wanted, 1});
  CameraChanges change;
  change.enable(name, on);
  return make_change(change, asked.persist, [this, name, on]() -> messages::Answer {
    if (CameraState* camera = find_camera(name)) {
      CameraConfig config = camera->retiring && camera->successor ? *camera->successor : camera->asked;
      config.enabled = on;
      if (camera->retiring || on != camera->asked.enabled) retire(*camera, config);
    }
    return {200, {{"enabled", on}}};
  });
}

}  // namespace campipe
