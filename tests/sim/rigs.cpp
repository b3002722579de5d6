#include "tests/sim/rigs.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>

namespace campipe::sim {
namespace {

struct Shape {
  unsigned cameras = 1;
  unsigned workers = 1;
  unsigned apart = 0;  // so many of the cameras have a master of their own from the start
  bool ranks = false;  // every second camera has a lower priority than the others
};

// Policies alternate.
constexpr std::array shapes{Shape{1, 1},          Shape{1, 1}, Shape{2, 2},          Shape{2, 2},
                            Shape{3, 2, 0, true}, Shape{3, 3}, Shape{4, 2, 1},       Shape{2, 2, 2},
                            Shape{6, 3, 0, true}, Shape{1, 2}, Shape{2, 1, 1, true}, Shape{5, 3, 1}};

constexpr std::array camera_names{"gate", "yard", "door", "hall", "roof", "dock"};

nlohmann::json camera_config(const std::string& name, bool drops) {
  return {{"source", "rtsp://192.0.2.1/" + name},
          {"drop_policy", drops ? "drop" : "block"},
          {"encode", {{"codec", "h264"}, {"gop", "1s"}}},
          {"record", {{"path", name + "-%s.mp4"}}}};
}

}  // namespace

std::vector<nlohmann::json> rig_configs() {
  std::vector<nlohmann::json> rigs;
  for (const Shape& shape : shapes) {
    nlohmann::json cameras;
    for (unsigned i = 0; i < shape.cameras; ++i) {
      nlohmann::json& camera = cameras[camera_names.at(i)] =
          camera_config(camera_names.at(i), (rigs.size() + i) % 2 == 0);
      if (shape.ranks) camera["priority"] = i % 2 == 0 ? 50 : 40;
      if (i < shape.apart) camera["decode"]["isolation"] = "always";
    }
    rigs.push_back({{"cameras", std::move(cameras)}, {"workers", {{"count", shape.workers}}}});
  }
  return rigs;
}

}  // namespace campipe::sim
