// What has to hold of mosaics: a cell says that its camera is away as long as that is so, and no longer.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "core/clock.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class Checks;

class MosaicWatch {
 public:
  explicit MosaicWatch(World& world) : world_(world) {}

  // A mosaic looks at a cell, and finds a frame of the camera that can be shown, or none.
  void on_cell(const std::string& mosaic, const std::string& camera, bool has_frame);
  void on_status(const nlohmann::json& status, const Checks& checks);
  // The run has been calm for long enough. `status`: the newest.
  void require_joined(const nlohmann::json& status) const;

 private:
  struct Cell {
    bool has_frame = false;
    Clock::time_point looked{};
  };
  World& world_;
  std::map<std::pair<std::string, std::string>, Cell> cells_;                                    // by mosaic and camera
  std::map<std::pair<std::string, std::string>, std::optional<Clock::time_point>> wrong_since_;  // cells, as said
};

}  // namespace campipe::sim
