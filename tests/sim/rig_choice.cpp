#include "tests/sim/rig_choice.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <stdexcept>
#include <utility>

#include "app/config/mosaic_layout.h"

namespace campipe::sim {
namespace {

using nlohmann::json;

constexpr std::uint64_t variants = 10;
constexpr std::uint64_t mosaic_variants = 6;
constexpr std::uint64_t group_variants = 6;
constexpr const char* added_mosaic = "wall0";
constexpr const char* added_group = "pair";

std::string id_of(const std::string& name, const json& keys) { return name + keys.dump(); }

void lay_over(json& file, std::map<std::string, bool>& enabled, const CameraChanges& changes) {
  for (const ConfigPart part : config_parts) {
    json& all = file[std::string(section_of(part))];
    if (all.is_null()) all = json::object();
    for (const auto& [name, keys] : changes.of(part).items()) {
      if (part != ConfigPart::group) enabled.erase(name);
      if (keys.is_null()) {
        all.erase(name);
      } else {
        all[name] = keys;
      }
    }
  }
  for (const auto& [name, on] : changes.enabled) enabled[name] = on;
}

ConfigError mistake(const std::string& path, bool of_request, const char* what = "unknown key") {
  ConfigError error;
  error.path = path;
  error.message = what;
  error.document = of_request ? ConfigDocument::request : ConfigDocument::file;
  return error;
}

LoadedConfig load_file(const json& file) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("campipe-sim-{}.yaml", ::getpid());
  std::ofstream(path) << file.dump();
  LoadedConfig loaded = load_config(path);
  std::filesystem::remove(path);
  for (const ConfigError& error : loaded.errors) throw std::runtime_error(format(error, "rig.yaml"));
  return loaded;
}

// Another one than those.
std::optional<std::string> first_beside(const std::vector<std::string>& all, const std::vector<std::string>& those) {
  const auto found =
      std::ranges::find_if(all, [&](const auto& name) { return std::ranges::find(those, name) == those.end(); });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

struct RigChoice::Loading {
  LoadedConfig loaded;
  const CameraChanges& changes;

  void refuse(ConfigPart part, const std::string& name, const char* what) {
    const std::string path = fmt::format("{}.{}.mistake", section_of(part), name);
    loaded.errors.push_back(mistake(path, changes.of(part).contains(name), what));
  }
  CameraConfig* camera(const std::string& name) {
    const auto found = std::ranges::find_if(
        loaded.rig.cameras, [&](const CameraConfig& camera) { return camera.name == name && !camera.mosaic; });
    return found == loaded.rig.cameras.end() ? nullptr : &*found;
  }
};

RigChoice::RigChoice(json file, Changeable changeable, unsigned gpus)
    : file_(std::move(file)), changeable_(changeable), gpus_(gpus) {
  for (const auto& [name, keys] : file_.at("cameras").items()) names_.push_back(name);
  for (const char* name : {"dock", "yard"}) {
    if (std::ranges::find(names_, name) == names_.end()) names_.emplace_back(name);
  }
  const json mosaics = file_.value("mosaics", json::object());
  for (const auto& [name, keys] : mosaics.items()) mosaics_.push_back(name);
  if (may_change(ConfigPart::mosaic) && mosaics_.empty()) mosaics_.emplace_back(added_mosaic);
  read(file_);
  for (std::uint64_t variant = 0; may_change(ConfigPart::camera) && variant < variants; ++variant) {
    json other = file_;
    for (const std::string& name : names_) other["cameras"][name] = camera_keys(name, variant);
    if (may_change(ConfigPart::mosaic)) {
      for (const std::string& name : mosaics_) other["mosaics"][name] = mosaic_keys(name, variant);
    }
    read(other);
    other = file_;
    other["sync_groups"][added_group] = group_keys(added_group, variant);
    if (may_change(ConfigPart::group)) read_group(other);
  }
  if (load(file_, {}, {}).rig.cameras != load_file(file_).rig.cameras)
    throw std::runtime_error("a configuration is put together in another way than app/config does it");
}

void RigChoice::read(const json& file) {
  json alone = file;
  alone.erase("sync_groups");
  LoadedConfig loaded = load_file(alone);
  for (std::size_t i = 0; i < loaded.rig.cameras.size(); ++i) {
    const CameraConfig& camera = loaded.rig.cameras[i];
    const char* const section = camera.mosaic ? "mosaics" : "cameras";
    read_[id_of(camera.name, file.at(section).at(camera.name))] = {camera, loaded.gpu_places.at(i)};
  }
  settings_ = std::move(loaded.rig);
  settings_.cameras.clear();
  if (file.contains("sync_groups")) read_group(file);
}

// Its rules are the same whoever its cameras are.
void RigChoice::read_group(const json& file) {
  for (const auto& [name, keys] : file.at("sync_groups").items()) {
    json alone = file;
    alone.erase("mosaics");
    alone["sync_groups"] = {{name, keys}};
    alone["sync_groups"][name]["cameras"] = {"member0", "member1"};
    alone["cameras"] = json::object();
    for (const char* member : {"member0", "member1"}) {
      alone["cameras"][member] = {{"source", fmt::format("rtsp://192.0.2.1/{}", member)}, {"drop_policy", "block"}};
    }
    groups_[id_of(name, keys)] = load_file(alone).rig.cameras.front().group.value();
  }
}

json RigChoice::keys(ConfigPart part, const std::string& name, std::uint64_t variant) const {
  switch (part) {
    case ConfigPart::camera:
      return camera_keys(name, variant);
    case ConfigPart::mosaic:
      return mosaic_keys(name, variant);
    case ConfigPart::group:
      return group_keys(name, variant);
  }
  return {};
}

json RigChoice::camera_keys(const std::string& name, std::uint64_t variant) const {
  const json& cameras = file_.at("cameras");
  const bool is_new = !cameras.contains(name);
  json keys = is_new ? cameras.front() : cameras.at(name);
  if (is_new) {
    keys["source"] = "rtsp://192.0.2.2/" + name;
    keys["record"] = {{"path", name + "-%s.mp4"}};
  }
  switch (variant % variants) {
    case 1:
      keys["drop_policy"] = keys.value("drop_policy", "drop") == "drop" ? "block" : "drop";
      break;
    case 2:
      keys["record"] = {{"path", name + "-b-%s.mp4"}};
      keys["push"] = {"rtmp://192.0.2.7/live/" + name};
      break;
    case 3:
      keys["priority"] = 70;
      break;
    case 4:
      keys.erase("record");
      break;
    case 5:
      keys["queue_size"] = 3;
      break;
    case 6:
      keys["outputs"]["raw"] = {{"encode", {{"codec", "copy"}}}, {"record", {{"path", name + "-raw-%s.mp4"}}}};
      break;
    case 7:
      keys["encode"] = {{"codec", "auto"}};
      break;
    case 8:
      keys["encode"] = {{"codec", "hevc"}};  // h264 is encoded for browsers, while they watch
      break;
    case 9:
      keys["encode"] = {{"codec", "copy"}};
      break;
    default:
      break;
  }
  return keys;
}

// Some are wrong, as long as a camera is not there.
json RigChoice::mosaic_keys(const std::string& name, std::uint64_t variant) const {
  const json mosaics = file_.value("mosaics", json::object());
  json keys = {{"cameras", {names_.front()}},
               {"width", 320},
               {"height", 180},
               {"rate", 25},
               {"encode", {{"codec", "h264"}, {"gop", "1s"}}},
               {"record", {{"path", name + "-%s.mp4"}}}};
  if (mosaics.contains(name)) keys = mosaics.at(name);
  auto shown = keys.at("cameras").get<std::vector<std::string>>();
  switch (variant % mosaic_variants) {
    case 1:
      if (shown.size() > 1) shown.pop_back();
      break;
    case 2:
      if (const auto more = first_beside(names_, shown)) shown.push_back(*more);
      break;
    case 3:
      keys["rate"] = 10;
      break;
    case 4:
      keys.erase("record");
      break;
    case 5:
      keys["cameras"] = "all";
      return keys;
    default:
      break;
  }
  keys["cameras"] = shown;
  return keys;
}

// Likewise.
json RigChoice::group_keys(const std::string& name, std::uint64_t variant) const {
  const json groups = file_.value("sync_groups", json::object());
  json keys = {{"cameras", {names_.at(0), names_.at(1)}}, {"rate", 25}, {"max_wait", "300ms"}};
  if (groups.contains(name)) keys = groups.at(name);
  auto members = keys.at("cameras").get<std::vector<std::string>>();
  switch (variant % group_variants) {
    case 1:
      keys["max_wait"] = "500ms";
      break;
    case 2:
      keys["rate"] = 12.5;
      break;
    case 3:
      if (members.size() > 2) members.pop_back();
      break;
    case 4:
      keys["on_missing"] = keys.value("on_missing", "repeat") == "drop" ? "repeat" : "drop";
      break;
    case 5:
      if (const auto more = first_beside(names_, members)) members.push_back(*more);
      break;
    default:
      break;
  }
  keys["cameras"] = members;
  return keys;
}

LoadedConfig RigChoice::load(const json& file, const CameraChanges& kept, const CameraChanges& changes) const {
  json all = file;
  std::map<std::string, bool> enabled;
  lay_over(all, enabled, kept);
  lay_over(all, enabled, changes);
  Loading loading{{}, changes};
  LoadedConfig& loaded = loading.loaded;
  loaded.rig = settings_;
  loaded.rig.worker_count = file.at("workers").at("count");
  loaded.digest = std::hash<std::string>()(file.dump());
  if (file.contains("mistake")) loaded.errors.push_back(mistake("mistake", false));
  const json& cameras = all.at("cameras");
  if (cameras.empty()) loaded.errors.push_back(mistake("cameras", false));
  for (const auto& [name, keys] : cameras.items()) {
    const auto found = read_.find(id_of(name, keys));
    if (found == read_.end()) {
      loading.refuse(ConfigPart::camera, name, "unknown key");
      continue;
    }
    loaded.rig.cameras.push_back(found->second.camera);
    loaded.gpu_places.push_back(found->second.places);
  }
  for (const auto& [name, keys] : all.at("sync_groups").items()) enter_group(name, keys, loading);
  for (const auto& [name, keys] : all.at("mosaics").items()) add_mosaic(name, keys, loading);
  for (CameraConfig& camera : loaded.rig.cameras) {
    if (const auto on = enabled.find(camera.name); on != enabled.end()) camera.enabled = on->second;
  }
  return std::move(loading.loaded);
}

// As app/config/groups.cpp.
void RigChoice::enter_group(const std::string& name, const json& keys, Loading& loading) const {
  const auto refuse = [&](const char* what) { loading.refuse(ConfigPart::group, name, what); };
  const auto found = groups_.find(id_of(name, keys));
  if (found == groups_.end()) return refuse("unknown key");
  const GroupConfig& rules = found->second;
  std::vector<CameraConfig*> members;
  for (const std::string& member : keys.at("cameras").get<std::vector<std::string>>()) {
    CameraConfig* const camera = loading.camera(member);
    if (camera == nullptr) return refuse("unknown camera");
    if (is_copy(camera->encode)) return refuse("a camera of it is copied");
    if (rules.on_missing == OnMissing::wait && camera->drop_policy != DropPolicy::block)
      return refuse("a camera of it drops frames");
    if (!members.empty() && camera->encode.gop != members.front()->encode.gop)
      return refuse("its cameras have key frames elsewhere");
    members.push_back(camera);
  }
  constexpr int longest_queue = 32;
  constexpr int spare_frames = 4;
  for (CameraConfig* const camera : members) {
    if (camera->encode.codec == "auto") camera->encode.codec = EncoderConfig().codec;
    camera->queue_size = std::max(camera->queue_size, std::min(frames_within(rules) + spare_frames, longest_queue));
    camera->group = rules;
  }
}

// As app/config/mosaic.cpp.
void RigChoice::add_mosaic(const std::string& name, const json& keys, Loading& loading) const {
  const auto refuse = [&](const char* what) { loading.refuse(ConfigPart::mosaic, name, what); };
  const auto found = read_.find(id_of(name, keys));
  if (found == read_.end() || !found->second.camera.mosaic) return refuse("unknown key");
  CameraConfig config = found->second.camera;
  std::vector<std::string> shown;
  if (keys.at("cameras") == "all") {
    for (const CameraConfig& camera : loading.loaded.rig.cameras) {
      if (!camera.mosaic) shown.push_back(camera.name);
    }
    config.mosaic->cells = lay_out_mosaic(MosaicGrid(), shown, config.mosaic->width, config.mosaic->height).cells;
  }
  for (const MosaicCell& cell : config.mosaic->cells) {
    if (loading.camera(cell.camera) == nullptr) return refuse("unknown camera");
  }
  loading.loaded.rig.cameras.push_back(std::move(config));
  loading.loaded.gpu_places.push_back(found->second.places);
}

}  // namespace campipe::sim
