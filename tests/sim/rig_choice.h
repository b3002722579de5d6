// The configuration of a simulated rig: its file, and all that its cameras can be changed to. app/config reads that
// beforehand, so that no run waits for a disk or an encoder: only what stands over what is done here.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/config/changes.h"
#include "app/config/config.h"

namespace campipe::sim {

// As the rig is started with it.
inline constexpr const char* own_file = "rig.yaml";

class RigChoice {
 public:
  // Reads files: to be called before any seed runs.
  // `changes`: its cameras can be changed. `gpus`: that its machine has.
  RigChoice(nlohmann::json file, bool changes, unsigned gpus = 0);

  [[nodiscard]] const nlohmann::json& file() const { return file_; }
  [[nodiscard]] unsigned gpus() const { return gpus_; }
  [[nodiscard]] const std::optional<ClusterConfig>& cluster() const { return settings_.cluster; }
  [[nodiscard]] std::vector<std::string> mosaics() const;
  // Of its cameras, and of those that may be added.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // A camera's keys as in the file: those that it begins with, or others.
  [[nodiscard]] nlohmann::json keys(const std::string& name, std::uint64_t variant) const;
  // The file, then `kept`, its overlay, then `changes`.
  [[nodiscard]] LoadedConfig load(const nlohmann::json& file, const CameraChanges& kept,
                                  const CameraChanges& changes) const;

 private:
  struct Read {
    CameraConfig camera;
    GpuPlaces places;
  };
  void read(const nlohmann::json& file);

  nlohmann::json file_;
  unsigned gpus_;
  std::vector<std::string> names_;
  RigConfig settings_;  // without cameras
  std::vector<Read> mosaics_;
  std::map<std::string, Read> read_;  // by name and keys
};

}  // namespace campipe::sim
