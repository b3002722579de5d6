// Changes of the configuration while the rig runs, one after the other: SIGHUP, and what the API asks for. The file,
// its overlay and encoders are looked at in a process of their own (app/control/load_process.h), for which the loop
// does not wait.
#include "app/supervisor/life/config_changes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/config/config.h"
#include "app/config/report.h"
#include "app/config/rig_config.h"
#include "app/control/messages/cluster.h"
#include "app/control/messages/to_publisher.h"
#include "app/placement/missing_gpus.h"
#include "app/supervisor/life/answers.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr std::size_t most_errors = 100;  // are reported of a configuration
constexpr std::size_t most_changes = 64;  // wait
constexpr std::size_t most_left_behind = 8;
constexpr int answered_elsewhere = 0;  // as an answer's status: who asked gets another one, later

// What the processes were started with.
std::optional<std::string> needs_restart(const RigConfig& before, const RigConfig& after) {
  if (before.worker_count != after.worker_count) return "workers.count";
  if (before.mps != after.mps) return "mps";
  if (before.events != after.events) return "events";
  if (before.umask != after.umask) return "umask";
  if (before.cluster != after.cluster) return "cluster";
  if (before.server.http_address != after.server.http_address) return "http_address";
  if (before.server.rtsp_address != after.server.rtsp_address) return "rtsp_address";
  if (before.server.rtsp_timestamps != after.server.rtsp_timestamps) return "rtsp_timestamps";
  if (before.server.tls != after.server.tls) return "tls";
  if (before.server.http_base != after.server.http_base) return "http_base";
  if (before.server.http_hosts != after.server.http_hosts) return "http_hosts";
  if (before.server.trusted_proxies != after.server.trusted_proxies) return "trusted_proxies";
  return std::nullopt;
}

// What a change is about.
template <typename Change>
constexpr ConfigPart changed_part = ConfigPart::camera;
template <>
constexpr ConfigPart changed_part<messages::PutMosaic> = ConfigPart::mosaic;
template <>
constexpr ConfigPart changed_part<messages::RemoveMosaic> = ConfigPart::mosaic;
template <>
constexpr ConfigPart changed_part<messages::PutGroup> = ConfigPart::group;
template <>
constexpr ConfigPart changed_part<messages::RemoveGroup> = ConfigPart::group;

bool is_reload(const messages::ConfigChange& change) { return std::holds_alternative<messages::Reload>(change); }

std::uint64_t number_of(const messages::ConfigChange& change) {
  return std::visit([](const auto& asked) { return asked.request; }, change);
}

std::vector<CameraConfig> mosaics_of(const RigConfig& rig) {
  std::vector<CameraConfig> mosaics;
  std::ranges::copy_if(rig.cameras, std::back_inserter(mosaics),
                       [](const CameraConfig& camera) { return camera.mosaic.has_value(); });
  return mosaics;
}

// What the camera is asked to be, or will be asked to be once it has gone.
const CameraConfig& wanted_of(const Camera& camera) { return camera.successor ? **camera.successor : *camera.asked; }

const CameraConfig* find(const RigConfig& rig, const std::string& name) {
  const auto config = std::ranges::find(rig.cameras, name, &CameraConfig::name);
  return config != rig.cameras.end() ? &*config : nullptr;
}

// It is wrong in itself, wherever else it would stand.
bool is_of_body(const ConfigError& error, const std::string& body) {
  const bool below = error.path.starts_with(body + ".") || error.path.starts_with(body + "[");
  return error.document == ConfigDocument::request && !error.contradicts && (error.path == body || below);
}

messages::Answer no_such(ConfigPart part) { return refused(404, "there is no such " + std::string(name_of(part))); }

std::string path_of(ConfigPart part, const std::string& name) { return std::string(section_of(part)) + "/" + name; }

// What a request throws is its answer.
std::optional<messages::Answer> answer_of(const std::function<std::optional<messages::Answer>()>& work) {
  try {
    return work();
  } catch (const Error& error) {
    return refused(409, error.what());
  } catch (const std::exception& error) {
    spdlog::error("a request failed: {}", error.what());
    return refused(500, error.what());
  }
}

}  // namespace

void ConfigChanges::answer(pid_t asker, std::uint64_t request, const std::function<messages::Answer()>& work) {
  send_answer(asker, request, *answer_of(work));
}

// No other gets an answer: not SIGHUP, and not the successor of the publisher that asked.
void ConfigChanges::send_answer(pid_t asker, std::uint64_t request, messages::Answer answer) {
  rig_.next_status = Clock::now();
  ManagedProcess& publisher = processes_.publisher();
  if (!publisher.child || publisher.child->pid() != asker) return;
  answer.request = request;
  processes_.send(publisher, answer);
}

void ConfigChanges::ask(messages::ConfigChange change, pid_t asker) {
  if (waiting_.size() == most_changes) {
    return send_answer(asker, number_of(change), refused(409, "too many changes wait already; try again later"));
  }
  waiting_.push_back({std::move(change), asker});
}

// Of several that come at once all but the last would be for nothing.
void ConfigChanges::reload_on_signal() {
  const auto begun = static_cast<std::ptrdiff_t>(load_ ? 1 : 0);
  const bool waits =
      std::any_of(waiting_.begin() + begun, waiting_.end(), [](const Waiting& change) { return change.asker == 0; });
  if (!waits) ask(messages::Reload(), 0);
}

bool ConfigChanges::reloading() const { return load_ && is_reload(waiting_.front().change); }

void ConfigChanges::go_on() {
  if (rig_.phase != RunPhase::running) return refuse_all();
  if (load_) {
    const auto loaded = load_->look();
    if (!loaded) return;
    left_behind_.push_back(std::move(load_));
    do_step([&, then = std::exchange(then_, nullptr)] { return then(*loaded); });
  }
  while (!load_ && !waiting_.empty()) {
    do_step([this] {
      return std::visit(
          [this](const auto& asked) { return rig_.config->cluster ? begin_for_cluster(asked) : begin(asked); },
          waiting_.front().change);
    });
  }
}

// Of the change at the front. With an answer it is over; without, it goes on when load_ has ended.
void ConfigChanges::do_step(const std::function<std::optional<messages::Answer>()>& step) {
  const auto answer = answer_of(step);
  if (!answer) return;
  const Waiting done = std::move(waiting_.front());
  waiting_.pop_front();
  forget_gpus();
  if (is_reload(done.change)) end_reload(*answer);
  if (answer->status != answered_elsewhere) send_answer(done.asker, number_of(done.change), *answer);
}

// Of cameras that have gone, or were refused.
void ConfigChanges::forget_gpus() {
  if (rig_.config->cluster || !any_awaited(rig_.machine.devices)) return;
  std::vector<CameraConfig> wanted;
  for (const Camera& camera : rig_.cameras.all()) {
    if (!camera.is_removed()) wanted.push_back(wanted_of(camera));
  }
  forget_unnamed_gpus(rig_.machine.devices, wanted, rig_.config->mps);
}

std::optional<messages::Answer> ConfigChanges::begin(const messages::Reload&) {
  spdlog::info("reading {} again", rig_.options.config.string());
  events_.on_reload();
  begin_load({rig_.options.config}, [this](const LoadedConfig& loaded) { return take(loaded); });
  return std::nullopt;
}

// The cluster's rig with the change must be good here; then the process `cluster` writes it, and all nodes follow it,
// as after `campipe cluster apply`. Which node gets a camera is the plan's, so nothing runs here yet.
template <typename Change>
std::optional<messages::Answer> ConfigChanges::begin_for_cluster(const Change& asked) {
  if constexpr (std::is_same_v<Change, messages::Reload>) {
    return begin(asked);
  } else {
    messages::ChangeRig change;
    change.request = asked.request;
    change.name = asked.name;
    CameraChanges all;
    if constexpr (std::is_same_v<Change, messages::EnableCamera>) {
      change.section = enabled_section;
      change.keys = asked.on;
      all.enable(asked.name, asked.on);
    } else {
      change.section = section_of(changed_part<Change>);
      if constexpr (requires { asked.config; }) change.keys = asked.config;
      all.put(changed_part<Change>, change.name, change.keys);
    }
    auto then = [this, change, asker = waiting_.front().asker](const LoadedConfig& loaded) mutable {
      if (!loaded.errors.empty()) {
        const std::string body = join_path(change.section, change.name);
        const bool is_wrong =
            std::ranges::any_of(loaded.errors, [&](const ConfigError& error) { return is_of_body(error, body); });
        return std::optional(refusal_of(loaded.errors, is_wrong ? 400 : 409, "the cluster's rig"));
      }
      change.digest = loaded.digest;
      events_.change_cluster(std::move(change), asker);
      return std::optional(messages::Answer{answered_elsewhere, {}});
    };
    begin_load({rig_.cluster_rig_file(), all}, std::move(then));
    return std::nullopt;
  }
}

void ConfigChanges::refuse_all() {
  load_.reset();
  then_ = nullptr;
  for (const Waiting& waiting : std::exchange(waiting_, {})) {
    send_answer(waiting.asker, number_of(waiting.change), refused(409, "the rig is ending"));
  }
}

// Throws Error.
void ConfigChanges::begin_load(const LoadJob& job, AfterLoad then) {
  std::erase_if(left_behind_, [](const auto& load) { return load->gone(); });
  const bool writes = std::ranges::any_of(left_behind_, [](const auto& load) { return load->writes(); });
  if (writes || left_behind_.size() >= most_left_behind) {
    throw Error(
        "the process that was to read or write it before cannot be ended: it waits for a disk that does not "
        "answer; mend that first");
  }
  load_ = std::make_unique<LoadProcess>(job, start_);
  then_ = std::move(then);
}

// The configuration as it would be, which must be good: with these keys; null: without any of that name.
void ConfigChanges::begin_load_with(ConfigPart part, const std::string& name, nlohmann::json keys, AfterLoad then) {
  CameraChanges all = changes_;
  all.put(part, name, std::move(keys));
  const std::string body = join_path(std::string(section_of(part)), name);
  begin_load({rig_.options.config, all}, [=, this, then = std::move(then)](const LoadedConfig& loaded) {
    const std::vector<ConfigError> errors = errors_of(loaded);
    // Else what somebody is about to write there would come in part, with whatever is changed here.
    if (errors.empty() && loaded.digest != rig_.options.digest) {
      return std::optional(
          refused(409, rig_.options.config.string() + " has been edited since it was read: reload it first"));
    }
    if (errors.empty()) {
      accept(loaded, body);
      return then(loaded);
    }
    const bool is_wrong = std::ranges::any_of(errors, [&](const auto& error) { return is_of_body(error, body); });
    return std::optional(refusal_of(errors, is_wrong ? 400 : 409));
  });
}

// What was changed since it was read last is forgotten, unless it was to last.
void ConfigChanges::end_reload(const messages::Answer& answer) {
  if (answer.status == 200) changes_ = {};
  for (const auto& error : answer.body.value("errors", nlohmann::json::array())) {
    spdlog::error("not reloaded: {}", error.get<std::string>());
  }
  if (answer.body.contains("error")) spdlog::error("not reloaded: {}", answer.body["error"].get<std::string>());
  events_.on_reloaded();
}

// Nothing: it is good.
std::vector<ConfigError> ConfigChanges::errors_of(const LoadedConfig& loaded) const {
  return loaded.errors.empty() ? check_gpus(loaded, rig_.machine).mistakes : loaded.errors;
}

// What is missing for what is changed, `body`, waits or runs elsewhere. Empty: all of it may be changed.
void ConfigChanges::accept(const LoadedConfig& loaded, const std::string& body) {
  for (const auto& conditions : {loaded.conditions, check_gpus(loaded, rig_.machine).conditions}) {
    for (const ConfigError& condition : conditions) {
      if (body.empty() || is_of_body(condition, body))
        spdlog::warn("not now: {}", format(condition, rig_.options.config.string()));
    }
  }
  add_missing_gpus(rig_.machine.devices, loaded.rig);
}

messages::Answer ConfigChanges::refusal_of(const std::vector<ConfigError>& errors, int status) const {
  return refusal_of(errors, status, rig_.options.config.string());
}

messages::Answer ConfigChanges::refusal_of(const std::vector<ConfigError>& errors, int status,
                                           const std::string& file) {
  nlohmann::json lines = nlohmann::json::array();
  for (const ConfigError& error : errors) {
    if (lines.size() == most_errors) break;
    lines.push_back(format(error, file));
  }
  if (errors.size() > most_errors) {
    lines.push_back("and " + std::to_string(errors.size() - most_errors) + " more mistakes");
  }
  return messages::Answer{status, {{"errors", lines}}};
}

// All of it, or nothing.
messages::Answer ConfigChanges::take(const LoadedConfig& loaded) {
  if (const auto errors = errors_of(loaded); !errors.empty()) return refusal_of(errors, 400);
  if (const auto key = needs_restart(*rig_.config, loaded.rig)) {
    return refused(409, "'" + *key + "' cannot be changed while the rig runs; restart it");
  }
  accept(loaded, "");
  const Admission before = std::exchange(rig_.config->admission, loaded.rig.admission);
  const Balance balance = std::exchange(rig_.config->balance, loaded.rig.balance);
  CameraDifference cameras;
  try {
    if (!rig_.config->cluster) cameras = roster_.apply(loaded.rig);  // else its file says nothing of those that run
  } catch (...) {
    rig_.config->admission = before;
    rig_.config->balance = balance;
    throw;
  }
  // Also where it is the same: certificates are read anew.
  processes_.send(processes_.publisher(), messages::ChangeServer{loaded.rig.server});
  rig_.config->server = loaded.rig.server;
  rig_.options.digest = loaded.digest;
  return reloaded_answer(cameras);
}

// What is to last is written first: what cannot be kept is not made.
std::optional<messages::Answer> ConfigChanges::make_change(const CameraChanges& change, bool persist,
                                                           const std::function<messages::Answer()>& make) {
  const auto remember_and_make = [this, change, make] {
    changes_.add(change);
    return make();
  };
  if (!persist) return remember_and_make();
  begin_load({rig_.options.config, change, true}, [remember_and_make](const LoadedConfig& kept) {
    return kept.errors.empty() ? remember_and_make() : refused(409, kept.errors.front().message);
  });
  return std::nullopt;
}

std::optional<messages::Answer> ConfigChanges::begin(const messages::PutCamera& asked) {
  return put_stream(ConfigPart::camera, asked);
}

std::optional<messages::Answer> ConfigChanges::begin(const messages::PutMosaic& asked) {
  return put_stream(ConfigPart::mosaic, asked);
}

// Cameras of its group come anew, too, where the group's rules follow from it.
std::optional<messages::Answer> ConfigChanges::put_stream(ConfigPart part, const messages::PutCamera& asked) {
  const std::string name = asked.name;
  const bool persist = asked.persist;
  CameraChanges change;
  change.put(part, name, asked.config);
  begin_load_with(part, name, asked.config, [=, this](const LoadedConfig& loaded) -> std::optional<messages::Answer> {
    const CameraConfig* const config = find(loaded.rig, name);
    if (config == nullptr) return refused(400, "nothing came of it");
    std::set<std::string> groups;
    if (config->group) groups.insert(config->group->name);
    if (const Camera* before = rig_.cameras.find(name); before != nullptr && wanted_of(*before).group)
      groups.insert(wanted_of(*before).group->name);
    std::vector<CameraConfig> coming = regrouped(loaded.rig, groups);
    std::erase_if(coming, [&](const CameraConfig& each) { return each.name == name; });
    coming.insert(coming.begin(), *config);
    roster_.require_room(coming);
    return make_change(change, persist, [this, coming, mosaics = mosaics_of(loaded.rig)] {
      const messages::Answer answer = make_camera_be(coming.front());
      std::for_each(coming.begin() + 1, coming.end(), [this](const CameraConfig& each) { make_camera_be(each); });
      show_in(mosaics);
      return answer;
    });
  });
  return std::nullopt;
}

// Mosaics of all cameras show those that there are.
void ConfigChanges::show_in(const std::vector<CameraConfig>& mosaics) {
  for (const CameraConfig& wanted : mosaics) {
    const Camera* const mosaic = rig_.cameras.find(wanted.name);
    if (mosaic == nullptr || !mosaic->is_mosaic() || mosaic->is_removed()) continue;
    CameraConfig config = wanted_of(*mosaic);
    config.mosaic->cells = wanted.mosaic->cells;
    make_camera_be(config);
  }
}

messages::Answer ConfigChanges::make_camera_be(const CameraConfig& config) {
  Camera* camera = rig_.cameras.find(config.name);
  if (camera == nullptr) {
    roster_.add(config);
    return put_answer(true);
  }
  const bool is_new = camera->is_removed();
  if (!camera->runs_as(config)) roster_.change(*camera, config);
  return put_answer(is_new);
}

std::optional<messages::Answer> ConfigChanges::begin(const messages::RemoveCamera& asked) {
  return remove_stream(ConfigPart::camera, asked);
}

std::optional<messages::Answer> ConfigChanges::begin(const messages::RemoveMosaic& asked) {
  return remove_stream(ConfigPart::mosaic, asked);
}

std::optional<messages::Answer> ConfigChanges::remove_stream(ConfigPart part, const messages::RemoveCamera& asked) {
  const std::string name = asked.name;
  const Camera* found = rig_.cameras.find(name);
  if (found == nullptr || found->is_removed()) return no_such(part);
  const ConfigPart is = wanted_of(*found).mosaic ? ConfigPart::mosaic : ConfigPart::camera;
  if (is != part) {
    return refused(409, "'" + name + "' is a " + std::string(name_of(is)) + "; DELETE /api/v1/" + path_of(is, name) +
                            " removes it");
  }
  const bool persist = asked.persist;
  CameraChanges change;
  change.remove(part, name);
  // A mosaic or a group may name it.
  begin_load_with(part, name, nullptr, [=, this](const LoadedConfig& loaded) {
    return make_change(change, persist, [this, name, mosaics = mosaics_of(loaded.rig)] {
      if (Camera* camera = rig_.cameras.find(name)) roster_.retire(*camera, std::nullopt);
      show_in(mosaics);
      return removed_answer();
    });
  });
  return std::nullopt;
}

bool ConfigChanges::has_group(const std::string& name) const {
  return std::ranges::any_of(rig_.cameras.all(), [&](const Camera& camera) {
    return !camera.is_removed() && wanted_of(camera).group && wanted_of(camera).group->name == name;
  });
}

// Cameras that such a change of these groups makes come anew: those that are in one, or were, and have other rules now.
std::vector<CameraConfig> ConfigChanges::regrouped(const RigConfig& wanted, const std::set<std::string>& groups) const {
  const auto is_in = [&](const CameraConfig& config) { return config.group && groups.contains(config.group->name); };
  std::vector<CameraConfig> coming;
  for (const Camera& camera : rig_.cameras.all()) {
    if (camera.is_removed()) continue;
    const CameraConfig& before = wanted_of(camera);
    const CameraConfig* const config = find(wanted, camera.name());
    if (config == nullptr || config->group == before.group || (!is_in(*config) && !is_in(before))) continue;
    CameraConfig& comes = coming.emplace_back(*config);
    comes.enabled = before.enabled;  // which may have been changed without being kept
  }
  return coming;
}

std::optional<messages::Answer> ConfigChanges::begin(const messages::PutGroup& asked) {
  const std::string name = asked.name;
  const bool persist = asked.persist;
  CameraChanges change;
  change.put(ConfigPart::group, name, asked.config);
  begin_load_with(ConfigPart::group, name, asked.config, [=, this](const LoadedConfig& loaded) {
    const std::vector<CameraConfig> coming = regrouped(loaded.rig, {name});
    roster_.require_room(coming);
    return make_change(change, persist, [this, coming, is_new = !has_group(name)] {
      for (const CameraConfig& config : coming) make_camera_be(config);
      return put_answer(is_new);
    });
  });
  return std::nullopt;
}

std::optional<messages::Answer> ConfigChanges::begin(const messages::RemoveGroup& asked) {
  const std::string name = asked.name;
  if (!has_group(name)) return no_such(ConfigPart::group);
  const bool persist = asked.persist;
  CameraChanges change;
  change.remove(ConfigPart::group, name);
  begin_load_with(ConfigPart::group, name, nullptr, [=, this](const LoadedConfig& loaded) {
    const std::vector<CameraConfig> coming = regrouped(loaded.rig, {name});
    roster_.require_room(coming);
    return make_change(change, persist, [this, coming] {
      for (const CameraConfig& config : coming) make_camera_be(config);
      return removed_answer();
    });
  });
  return std::nullopt;
}

std::optional<messages::Answer> ConfigChanges::begin(const messages::EnableCamera& asked) {
  const std::string name = asked.name;
  const bool on = asked.on;
  const Camera* found = rig_.cameras.find(name);
  if (found == nullptr || found->is_removed()) return refused(404, "there is no such camera");
  CameraConfig wanted = wanted_of(*found);
  wanted.enabled = on;
  if (on) roster_.require_room({&wanted, 1});
  CameraChanges change;
  change.enable(name, on);
  return make_change(change, asked.persist, [this, name, on]() -> messages::Answer {
    Camera* camera = rig_.cameras.find(name);
    if (camera == nullptr || camera->is_removed()) return refused(404, "there is no such camera");
    CameraConfig config = wanted_of(*camera);
    config.enabled = on;
    if (!camera->runs_as(config)) roster_.change(*camera, config);
    return enabled_answer(on);
  });
}

}  // namespace campipe
