#include "tests/sim/mosaic_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/checks.h"

namespace campipe::sim {
namespace {

constexpr auto until_cells_follow = seconds(3);  // status comes each second or two
constexpr auto newest_look = seconds(1);

bool runs(const nlohmann::json& cameras, const std::string& name) {
  return cameras.contains(name) && cameras.at(name).at("state") == "running";
}

bool shows(const nlohmann::json& cameras, const std::string& mosaic, const std::string& camera) {
  if (!cameras.contains(mosaic)) return false;
  const nlohmann::json cells = cameras.at(mosaic).value("cells", nlohmann::json::array());
  return std::ranges::any_of(cells, [&](const nlohmann::json& cell) { return cell.at("camera") == camera; });
}

}  // namespace

void MosaicWatch::on_cell(const std::string& mosaic, const std::string& camera, bool has_frame) {
  world_.reached(has_frame ? "a cell shows its camera" : "a cell shows no frame");
  cells_[{mosaic, camera}] = {has_frame, world_.now()};
}

void MosaicWatch::on_status(const nlohmann::json& status, const Checks& checks) {
  const nlohmann::json& cameras = status.at("cameras");
  for (const auto& [name, mosaic] : cameras.items()) {
    const bool has_failed = mosaic.contains("cells") && mosaic.at("state") == "failed";
    if (has_failed) world_.reached("a mosaic has failed");
    for (const nlohmann::json& cell : mosaic.value("cells", nlohmann::json::array())) {
      const std::string camera = cell.at("camera");
      const bool away = cell.at("away");
      if (away) world_.reached("a cell is away");
      if (away && cell.at("reason").get<std::string>().empty())
        world_.fail(fmt::format("{} does not say why it does not show {}", name, camera));
      const std::string state = cameras.contains(camera) ? cameras.at(camera).at("state") : "";
      const bool differs = (state == "waiting" && !away) || (state == "running" && away);
      // A cell that comes while its camera or the mosaic goes over, or while the camera is changed and its master hears
      // nothing, waits for the end of that.
      const bool camera_moves = cameras.contains(camera) && cameras.at(camera).contains("moves_to");
      const bool goes_over = camera_moves || mosaic.contains("moves_to");
      const bool waits = goes_over || checks.hinders(camera, Part::master);
      const bool is_wrong = has_failed ? !away : differs && !waits && mosaic.at("state") == "running";
      auto& since = wrong_since_[{name, camera}];
      if (!is_wrong) since.reset();
      if (is_wrong && !since) since = world_.now();
      if (is_wrong && world_.now() - *since > until_cells_follow)
        world_.fail(fmt::format("{} says that {} is {}away, which is {}", name, camera, away ? "" : "not ", state));
    }
  }
}

void MosaicWatch::require_joined(const nlohmann::json& status) const {
  if (status.is_null()) return;
  const nlohmann::json& cameras = status.at("cameras");
  for (const auto& [names, cell] : cells_) {
    const auto& [mosaic, camera] = names;
    if (!shows(cameras, mosaic, camera) || !runs(cameras, mosaic) || !runs(cameras, camera)) continue;
    if (world_.now() - cell.looked > newest_look) world_.fail(mosaic + " draws nothing, long after the last fault");
    if (!cell.has_frame) world_.fail(fmt::format("{} has no frame of {}, long after the last fault", mosaic, camera));
    world_.reached("a cell is joined again");
  }
}

}  // namespace campipe::sim
