#include "tests/sim/mosaic_rigs.h"

#include <nlohmann/json.hpp>
#include <string>

namespace campipe::sim {
namespace {

// Mosaics of `shown` each.
nlohmann::json rig_of(const std::vector<std::string>& cameras, const std::vector<std::vector<std::string>>& shown,
                      unsigned workers) {
  nlohmann::json rig{{"workers", {{"count", workers}}}};
  bool drops = true;
  for (const std::string& name : cameras) {
    rig["cameras"][name] = {{"source", "rtsp://192.0.2.1/" + name},
                            {"drop_policy", drops ? "drop" : "block"},
                            {"encode", {{"codec", "h264"}, {"gop", "1s"}}},
                            {"record", {{"path", name + "-%s.mp4"}}}};
    drops = !drops;
  }
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::string name = "wall" + std::to_string(i);
    rig["mosaics"][name] = {{"cameras", shown[i]},
                            {"width", 320},
                            {"height", 180},
                            {"rate", 25},
                            {"encode", {{"codec", "h264"}, {"gop", "1s"}}},
                            {"record", {{"path", name + "-%s.mp4"}}}};
  }
  return rig;
}

}  // namespace

std::vector<nlohmann::json> mosaic_rigs() {
  return {rig_of({"gate", "yard"}, {{"gate", "yard"}}, 1), rig_of({"gate", "yard"}, {{"gate", "yard"}}, 2),
          rig_of({"gate", "yard", "door"}, {{"gate", "yard", "door"}}, 3),
          rig_of({"gate", "yard", "door"}, {{"gate", "yard"}, {"yard", "door"}}, 2),
          rig_of({"gate", "yard"}, {{"gate"}, {"gate", "yard"}}, 3)};
}

}  // namespace campipe::sim
