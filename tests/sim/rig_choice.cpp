#include "tests/sim/rig_choice.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <utility>

namespace campipe::sim {
namespace {

constexpr std::uint64_t variants = 10;

std::string id_of(const std::string& name, const nlohmann::json& keys) { return name + keys.dump(); }

void lay_over(nlohmann::json& cameras, std::map<std::string, bool>& enabled, const CameraChanges& changes) {
  for (const auto& [name, keys] : changes.cameras.items()) {
    enabled.erase(name);
    if (keys.is_null()) {
      cameras.erase(name);
    } else {
      cameras[name] = keys;
    }
  }
  for (const auto& [name, on] : changes.enabled) enabled[name] = on;
}

ConfigError mistake(const std::string& path, bool of_request) {
  ConfigError error;
  error.path = path;
  error.message = "unknown key";
  error.document = of_request ? ConfigDocument::request : ConfigDocument::file;
  return error;
}

}  // namespace

RigChoice::RigChoice(nlohmann::json file, bool changes, unsigned gpus) : file_(std::move(file)), gpus_(gpus) {
  for (const auto& [name, keys] : file_.at("cameras").items()) names_.push_back(name);
  for (const char* name : {"dock", "yard"}) {
    if (std::ranges::find(names_, name) == names_.end()) names_.emplace_back(name);
  }
  read(file_);
  for (std::uint64_t variant = 0; changes && variant < variants; ++variant) {
    nlohmann::json other = file_;
    for (const std::string& name : names_) other["cameras"][name] = keys(name, variant);
    read(other);
  }
}

void RigChoice::read(const nlohmann::json& file) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("campipe-sim-{}.yaml", ::getpid());
  std::ofstream(path) << file.dump();
  LoadedConfig loaded = load_config(path);
  std::filesystem::remove(path);
  for (const ConfigError& error : loaded.errors) throw std::runtime_error(format(error, "rig.yaml"));
  mosaics_.clear();
  for (std::size_t i = 0; i < loaded.rig.cameras.size(); ++i) {
    const CameraConfig& camera = loaded.rig.cameras[i];
    if (camera.mosaic) {
      mosaics_.push_back({camera, loaded.gpu_places.at(i)});
      continue;
    }
    read_[id_of(camera.name, file.at("cameras").at(camera.name))] = {camera, loaded.gpu_places.at(i)};
  }
  settings_ = std::move(loaded.rig);
  settings_.cameras.clear();
}

std::vector<std::string> RigChoice::mosaics() const {
  std::vector<std::string> names;
  for (const Read& mosaic : mosaics_) names.push_back(mosaic.camera.name);
  return names;
}

nlohmann::json RigChoice::keys(const std::string& name, std::uint64_t variant) const {
  const nlohmann::json& cameras = file_.at("cameras");
  const bool is_new = !cameras.contains(name);
  nlohmann::json keys = is_new ? cameras.front() : cameras.at(name);
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

LoadedConfig RigChoice::load(const nlohmann::json& file, const CameraChanges& kept,
                             const CameraChanges& changes) const {
  nlohmann::json cameras = file.at("cameras");
  std::map<std::string, bool> enabled;
  lay_over(cameras, enabled, kept);
  lay_over(cameras, enabled, changes);
  LoadedConfig loaded;
  loaded.rig = settings_;
  loaded.rig.worker_count = file.at("workers").at("count");
  loaded.digest = std::hash<std::string>()(file.dump());
  if (file.contains("mistake")) loaded.errors.push_back(mistake("mistake", false));
  if (cameras.empty()) loaded.errors.push_back(mistake("cameras", false));
  // The rig has none of these.
  for (const ConfigPart part : {ConfigPart::mosaic, ConfigPart::group}) {
    for (const auto& [name, keys] : changes.of(part).items())
      loaded.errors.push_back(mistake(fmt::format("{}.{}.mistake", section_of(part), name), true));
  }
  for (const auto& [name, keys] : cameras.items()) {
    const auto found = read_.find(id_of(name, keys));
    if (found == read_.end()) {
      loaded.errors.push_back(mistake("cameras." + name + ".mistake", changes.cameras.contains(name)));
      continue;
    }
    loaded.rig.cameras.push_back(found->second.camera);
    loaded.gpu_places.push_back(found->second.places);
    if (const auto on = enabled.find(name); on != enabled.end()) loaded.rig.cameras.back().enabled = on->second;
  }
  for (const Read& mosaic : mosaics_) {
    loaded.rig.cameras.push_back(mosaic.camera);
    loaded.gpu_places.push_back(mosaic.places);
  }
  return loaded;
}

}  // namespace campipe::sim
