#include "tests/sim/owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/control/sent_stream.h"
#include "tests/sim/child.h"
#include "tests/sim/machine.h"

namespace campipe::sim {
namespace {

constexpr auto api_waits = seconds(10);  // so long does the API wait
constexpr unsigned edits = 10;
constexpr std::uint64_t of_moved = 5;  // cameras' numbers from that on name the one that was to be moved last
constexpr const char* group_name = "pair";

std::string reason_of(const nlohmann::json& body) {
  if (body.contains("error")) return body.at("error");
  std::string all;
  for (const nlohmann::json& error : body.value("errors", nlohmann::json::array()))
    all += error.get<std::string>() + "; ";
  return all;
}

bool names_any(const std::string& text, std::initializer_list<const char*> parts) {
  return std::ranges::any_of(parts, [&](const char* part) { return text.find(part) != std::string::npos; });
}

// Of a group there is nothing else that can be changed.
bool changes_keys(ChangeKind kind) {
  return kind == ChangeKind::edit || kind == ChangeKind::reload || kind == ChangeKind::api_reload ||
         kind == ChangeKind::put || kind == ChangeKind::remove;
}

}  // namespace

Owner::Owner(Machine& machine, const RigChoice& choice)
    : machine_(machine), choice_(choice), file_(choice.file()), read_file_(choice.file()) {}

void Owner::make(const Change& change) {
  machine_.world().trace("change: " + describe(change));
  machine_.world().reached(std::string("change ") + name_of(change.kind));
  if (change.trouble != LoadTrouble::none) {
    trouble_ = change.trouble;
    loads_fail_ = true;
    disk_holds_ = disk_holds_ || change.trouble == LoadTrouble::held_by_disk;
    machine_.world().reached(std::string("load trouble ") + name_of(change.trouble));
  }
  const std::string name = name_for(change);
  const ConfigPart part = part_of(name);
  // An edit is taken back, mostly: what is edited and not read refuses all changes.
  if (change.kind != ChangeKind::edit && change.detail % 4 != 0) file_ = read_file_;
  Asked asked;
  asked.name = name;
  asked.must_succeed = true;
  switch (change.kind) {
    case ChangeKind::edit:
      return edit(part, name, change.detail);
    case ChangeKind::reload:
      edit(part, name, change.detail);
      signal_ = true;
      return machine_.wake_supervisor_at(machine_.world().now());
    case ChangeKind::api_reload:
      edit(part, name, change.detail);
      asked.name.clear();
      asked.must_succeed = false;
      return ask({messages::Reload{}}, std::move(asked));
    case ChangeKind::put:
      return put(part, change, std::move(asked));
    case ChangeKind::remove:
      return remove(part, change, std::move(asked));
    case ChangeKind::enable:
    case ChangeKind::disable: {
      const bool on = change.kind == ChangeKind::enable;
      asked.effect.enable(name, on);
      return ask({messages::EnableCamera{0, name, on, change.lasts}}, std::move(asked));
    }
    case ChangeKind::record:
    case ChangeKind::stop_recording:
      asked.records = change.kind == ChangeKind::record;
      if (!*asked.records) machine_.checks().on_recording_off(name);
      return ask({messages::SetRecording{0, name, *asked.records}}, std::move(asked));
    case ChangeKind::watch:
      watched_until_[name] = machine_.world().now() + seconds(1 + change.detail % 16);
      return;
    case ChangeKind::strange:
      return ask_strange(part == ConfigPart::camera ? name : choice_.names().front(), change.detail);
  }
}

ConfigPart Owner::part_of(const std::string& name) const {
  if (name == group_name) return ConfigPart::group;
  return machine_.is_mosaic(name) ? ConfigPart::mosaic : ConfigPart::camera;
}

void Owner::put(ConfigPart part, const Change& change, Asked asked) {
  const nlohmann::json keys = choice_.keys(part, asked.name, change.detail);
  asked.effect.put(part, asked.name, keys);
  const messages::PutCamera put{0, asked.name, keys, change.lasts};
  if (part == ConfigPart::mosaic) return ask({messages::PutMosaic{put}}, std::move(asked));
  if (part == ConfigPart::group) return ask({messages::PutGroup{put}}, std::move(asked));
  ask({put}, std::move(asked));
}

void Owner::remove(ConfigPart part, const Change& change, Asked asked) {
  asked.effect.remove(part, asked.name);
  const messages::RemoveCamera remove{0, asked.name, change.lasts};
  if (part == ConfigPart::mosaic) return ask({messages::RemoveMosaic{remove}}, std::move(asked));
  if (part == ConfigPart::group) return ask({messages::RemoveGroup{remove}}, std::move(asked));
  ask({remove}, std::move(asked));
}

// One that is there, where something has to be; mostly.
std::string Owner::name_for(const Change& change) const {
  if (choice_.may_change(change.part) && changes_keys(change.kind)) {
    if (change.part == ConfigPart::group) return group_name;
    const auto& mosaics = choice_.mosaics();
    if (change.part == ConfigPart::mosaic) return mosaics.at(change.camera % mosaics.size());
  }
  const auto cameras = wanted();
  const std::string& moved = machine_.mover().newest();
  if (change.camera >= of_moved && cameras.contains(moved)) return moved;
  const bool any = change.kind == ChangeKind::put || change.detail % 8 == 0 || cameras.empty();
  if (any) return choice_.names().at(change.camera % choice_.names().size());
  return std::next(cameras.begin(), static_cast<std::ptrdiff_t>(change.camera % cameras.size()))->first;
}

bool Owner::watches(const std::string& camera) const {
  const auto found = watched_until_.find(camera);
  return found != watched_until_.end() && machine_.world().now() < found->second;
}

void Owner::edit(ConfigPart part, const std::string& name, std::uint64_t how) {
  const std::string section(section_of(part));
  file_.erase("mistake");
  file_["workers"]["count"] = choice_.file().at("workers").at("count");
  switch (how % edits) {
    case 0:  // as it is
      break;
    case 1:
      if (file_.contains(section)) file_[section].erase(name);
      break;
    case 2:
      file_["mistake"] = true;
      break;
    case 3:
      file_["workers"]["count"] = 7;  // for which the rig has to be started again
      break;
    default:
      file_[section][name] = choice_.keys(part, name, how / edits);
      break;
  }
  was_edited_ = was_edited_ || file_ != read_file_;
}

// None of this may change anything.
void Owner::ask_strange(const std::string& name, std::uint64_t which) {
  Asked asked;
  nlohmann::json keys = choice_.keys(ConfigPart::camera, name, 0);
  keys["mistake"] = true;
  const nlohmann::json empty = nlohmann::json::object();
  const std::array<messages::Request, 10> all{{{messages::PutCamera{0, name, keys, true}},
                                               {messages::PutMosaic{{0, "nothing", keys, false}}},
                                               {messages::RemoveMosaic{{0, name, false}}},
                                               {messages::PutGroup{{0, "nobody", keys, true}}},
                                               {messages::RemoveGroup{{0, "nobody", false}}},
                                               {messages::RemoveCamera{0, "nobody", true}},
                                               {messages::MoveCamera{0, name, 7, std::nullopt}},
                                               {messages::DrainNode{0, "here", false}},
                                               {messages::MoveToNode{0, name, std::nullopt}},
                                               {messages::SetRecording{0, "nobody", true}}}};
  ask(all.at(which % all.size()), std::move(asked));
}

void Owner::ask(messages::Request request, Asked asked) {
  Child* const publisher = machine_.publisher();
  if (publisher == nullptr) return machine_.world().reached("a request finds no publisher");
  const std::uint64_t number = machine_.next_request();
  asked.at = machine_.world().now();
  std::visit(
      [&](auto& message) {
        message.request = number;
        asked.type = message.type;
        publisher->send(message);
      },
      request);
  asked_[{publisher->pid(), number}] = std::move(asked);
}

Reading Owner::read(const CameraChanges& changes) const { return {file_, kept_, choice_.load(file_, kept_, changes)}; }

void Owner::on_reread(const Reading& reading) {
  const bool needs_restart = reading.file.at("workers") != choice_.file().at("workers");
  if (!reading.loaded.errors.empty() || needs_restart) return machine_.world().reached("a reload is refused");
  machine_.world().reached("a reload is taken");
  for (const auto& [name, camera] : wanted()) {
    const auto& coming = reading.loaded.rig.cameras;
    if (std::ranges::find(coming, camera) == coming.end()) records_.erase(name);
    if (std::ranges::find(coming, name, &CameraConfig::name) == coming.end()) machine_.checks().on_removed(name);
  }
  read_file_ = reading.file;
  read_kept_ = reading.kept;
  changes_ = {};
  was_edited_ = file_ != read_file_;
}

void Owner::on_answer(pid_t publisher, const nlohmann::json& answer) {
  const auto found = asked_.find({publisher, answer.at("request").get<std::uint64_t>()});
  if (found == asked_.end()) return machine_.world().fail("an answer to what nobody asked: " + answer.dump());
  Asked& asked = found->second;
  if (asked.status) return machine_.world().fail("a second answer to " + asked.type + ": " + answer.dump());
  asked.status = answer.at("status").get<int>();
  machine_.world().trace(fmt::format("answer to {} {}: {}", asked.type, asked.name, answer.dump()));
  machine_.world().reached(fmt::format("answer {} to {}", *asked.status, asked.type));
  if (*asked.status / 100 == 2) return take_effect(asked);
  const std::string reason = reason_of(answer.at("body"));
  if (reason.empty()) return machine_.world().fail("a request is refused without a reason: " + answer.dump());
  if (asked.must_succeed && !excuses(asked, reason))
    machine_.world().fail(fmt::format("{} of {} is refused: {}", asked.type, asked.name, reason));
}

// Why what is right in itself may be refused.
bool Owner::excuses(const Asked& asked, const std::string& reason) const {
  if (names_any(reason, {"the rig is ending"})) return machine_.asks_to_end();
  if (names_any(reason, {"cannot be ended"})) return disk_holds_;
  if (names_any(reason, {"took longer than", "ended its process", "cannot start load-config"})) return loads_fail_;
  // What could not be done may be in the overlay.
  const bool names_section = names_any(reason, {"cameras", "mosaics", "sync_groups"});
  if (loads_fail_ && names_section) return true;
  if (was_edited_ && (names_section || names_any(reason, {"has been edited", "mistake"}))) return true;
  const auto cameras = wanted();
  const bool is_there = (cameras.contains(asked.name) || asked.name == group_name) && !is_unknown(asked.name);
  if (names_any(reason, {"there is no such camera", "there is no such mosaic"})) return !is_there;
  if (names_any(reason, {"there is no such group"})) return !has_group() || !unknown_.empty();
  if (names_section) return !fits(asked) || !unknown_.empty();
  if (!asked.records || !is_there) return !is_there;
  const CameraConfig& camera = cameras.at(asked.name);
  return !camera.enabled || !camera.record || machine_.checks().any_may_be_quarantined();
}

void Owner::take_effect(const Asked& asked) {
  if (asked.type == messages::Reload::type) return;  // on_reread() knows
  const bool may_be = !asked.name.empty() && (fits(asked) || !unknown_.empty() || loads_fail_);
  if (!may_be) return machine_.world().fail(asked.type + " is done, which cannot be");
  for (const std::string& camera : changed_by(asked)) records_.erase(camera);
  const auto before = wanted();
  changes_.add(asked.effect);
  const auto after = wanted();
  for (const auto& [camera, keys] : before) {
    if (!after.contains(camera)) machine_.checks().on_removed(camera);
  }
  // Of one that may not have come, or gone, it is known by now.
  const bool has_keys =
      std::ranges::any_of(config_parts, [&](ConfigPart part) { return asked.effect.of(part).contains(asked.name); });
  if (has_keys) unknown_.erase(asked.name);
  if (asked.records) {
    records_[asked.name] = *asked.records;
  } else {
    records_.erase(asked.name);
  }
}

void Owner::on_answered(pid_t publisher, std::uint64_t request) {
  const auto found = asked_.find({publisher, request});
  if (found == asked_.end() || std::exchange(found->second.answered, true))
    return machine_.world().fail("an answer comes twice, or to what nobody asked");
  const bool calm = machine_.course().faults.empty() && !loads_fail_ && !machine_.asks_to_end();
  if (calm && machine_.world().now() - found->second.at > api_waits)
    machine_.world().fail(found->second.type + " is answered late, and nothing was wrong");
}

void Owner::on_death(pid_t publisher) {
  for (const auto& [whose, asked] : asked_) {
    if (whose.first != publisher || asked.status) continue;
    const bool calm = machine_.course().faults.empty() && machine_.world().now() - asked.at > api_waits;
    if (calm) machine_.world().fail(asked.type + " is never answered");
    unknown_.insert(asked.name);
    for (const std::string& camera : changed_by(asked)) {
      if (camera != asked.name) doubtful_.insert(camera);
    }
    machine_.checks().on_removed(asked.name);  // for all that is known
  }
}

std::map<std::string, CameraConfig> Owner::loaded_cameras(const CameraChanges& changes) const {
  std::map<std::string, CameraConfig> cameras;
  for (const CameraConfig& camera : choice_.load(read_file_, read_kept_, changes).rig.cameras)
    cameras.emplace(camera.name, camera);
  return cameras;
}

// Some camera is in it.
bool Owner::has_group() const {
  return std::ranges::any_of(wanted(), [](const auto& camera) { return camera.second.group.has_value(); });
}

// There is no mistake in what it would make of the configuration.
bool Owner::fits(const Asked& asked) const {
  CameraChanges changes = changes_;
  changes.add(asked.effect);
  return choice_.load(read_file_, read_kept_, changes).errors.empty();
}

std::set<std::string> Owner::changed_by(const Asked& asked) const {
  CameraChanges changes = changes_;
  changes.add(asked.effect);
  const auto before = wanted();
  const auto after = loaded_cameras(changes);
  std::set<std::string> changed;
  for (const auto& [name, camera] : before) {
    if (!after.contains(name) || after.at(name) != camera) changed.insert(name);
  }
  for (const auto& [name, camera] : after) {
    if (!before.contains(name)) changed.insert(name);
  }
  return changed;
}

// Of a cluster's cameras those that are this node's.
void Owner::check(const nlohmann::json& status) const {
  const Child* const publisher = machine_.publisher();
  for (const auto& [whose, asked] : asked_) {
    const bool lives = publisher != nullptr && publisher->pid() == whose.first;
    if (lives && !asked.answered) machine_.world().fail(asked.type + " is not answered");
  }
  auto cameras = wanted();
  std::erase_if(cameras, [this](const auto& camera) { return !machine_.cluster().gives(camera.first); });
  for (const auto& [name, shown] : status.at("cameras").items()) {
    if (!cameras.contains(name) && !is_unknown(name))
      machine_.world().fail(name + " is there still, long after it was removed");
  }
  for (const auto& [name, camera] : cameras) {
    if (is_unknown(name)) continue;
    if (!status.at("cameras").contains(name)) {
      machine_.world().fail(name + " has not come");
      continue;
    }
    check(camera, status.at("cameras").at(name));
  }
  for (const std::string& name : machine_.known_cameras()) {
    const bool runs = cameras.contains(name) && cameras.at(name).enabled;
    if (!runs && !is_unknown(name)) machine_.world().fail("a process has " + name + " still");
  }
}

void Owner::check(const CameraConfig& wanted, const nlohmann::json& shown) const {
  const std::string& name = wanted.name;
  if (shown.at("enabled") != wanted.enabled || (shown.at("state") == "disabled") == wanted.enabled)
    machine_.world().fail(name + " is not enabled, or is, other than was asked for");
  if (!wanted.enabled || shown.at("state") != "running") return;
  if (depends_on_stream(wanted)) return machine_.world().reached("a camera is run as its source sends");
  for (ResolvedOutput& output : resolved_outputs(wanted)) {
    if (choice_.cluster()) output.node = node_name(*choice_.cluster());
    const auto found = outputs_.find(output.name);
    if (found == outputs_.end() || found->second != output)
      machine_.world().fail(output.name + " is published in another way than was asked for");
  }
  if (wanted.mosaic) return;  // no source reads it
  CameraConfig read = cameras_.contains(name) ? cameras_.at(name) : CameraConfig();
  // No process has to know of these.
  read.priority = wanted.priority;
  read.gpu = wanted.gpu;
  read.decode_gpu = wanted.decode_gpu;
  read.placement = wanted.placement;
  if (read != wanted) machine_.world().fail(name + " is read in another way than was asked for");
  const auto on = records_.find(name);
  if (on != records_.end() && wanted.record && !machine_.disk_breaks()) {
    if (shown.at("recording_on") != on->second) machine_.world().fail(name + " is recorded, or not, as nobody asked");
  }
}

}  // namespace campipe::sim
