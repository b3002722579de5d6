// The configuration of a simulated rig: its file, and all that can be changed in it. app/config reads that beforehand,
// so that no run waits for a disk or an encoder: only what stands over what is done here, and what groups and mosaics
// are by the cameras that there are.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/config/changes.h"
#include "app/config/config.h"

namespace campipe::sim {

// As the rig is started with it.
inline constexpr const char* own_file = "rig.yaml";

// What can be changed: cameras of a rig; or also its group and its mosaic, of which it need have none at first.
enum class Changeable : std::uint8_t { nothing, cameras, all };

class RigChoice {
 public:
  // Reads files: to be called before any seed runs. `gpus`: that its machine has.
  RigChoice(nlohmann::json file, Changeable changeable, unsigned gpus = 0);

  [[nodiscard]] const nlohmann::json& file() const { return file_; }
  [[nodiscard]] unsigned gpus() const { return gpus_; }
  [[nodiscard]] const std::optional<ClusterConfig>& cluster() const { return settings_.cluster; }
  // That it has, or that may be added.
  [[nodiscard]] const std::vector<std::string>& mosaics() const { return mosaics_; }
  // Of its cameras, and of those that may be added.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] bool may_change(ConfigPart part) const {
    return changeable_ == Changeable::all || (changeable_ == Changeable::cameras && part == ConfigPart::camera);
  }
  // The keys of a camera, a mosaic or a group as in the file: those that it begins with, or others.
  [[nodiscard]] nlohmann::json keys(ConfigPart part, const std::string& name, std::uint64_t variant) const;
  // The file, then `kept`, its overlay, then `changes`.
  [[nodiscard]] LoadedConfig load(const nlohmann::json& file, const CameraChanges& kept,
                                  const CameraChanges& changes) const;

 private:
  struct Read {
    CameraConfig camera;
    GpuPlaces places;
  };
  struct Loading;

  [[nodiscard]] nlohmann::json camera_keys(const std::string& name, std::uint64_t variant) const;
  [[nodiscard]] nlohmann::json mosaic_keys(const std::string& name, std::uint64_t variant) const;
  [[nodiscard]] nlohmann::json group_keys(const std::string& name, std::uint64_t variant) const;
  void read(const nlohmann::json& file);
  void read_group(const nlohmann::json& file);
  void enter_group(const std::string& name, const nlohmann::json& keys, Loading& loading) const;
  void add_mosaic(const std::string& name, const nlohmann::json& keys, Loading& loading) const;

  nlohmann::json file_;
  Changeable changeable_;
  unsigned gpus_;
  std::vector<std::string> names_;
  std::vector<std::string> mosaics_;
  RigConfig settings_;                         // without cameras
  std::map<std::string, Read> read_;           // cameras, in no group, and mosaics; by name and keys
  std::map<std::string, GroupConfig> groups_;  // likewise
};

}  // namespace campipe::sim
