#include "tests/sim/group_rigs.h"

#include <nlohmann/json.hpp>
#include <string>

namespace campipe::sim {
namespace {

nlohmann::json rig_of(const std::vector<std::string>& members, const std::string& on_missing, bool drops,
                      unsigned workers, const std::vector<std::string>& others = {}) {
  nlohmann::json cameras;
  const auto add = [&](const std::string& name) {
    cameras[name] = {{"source", "rtsp://192.0.2.1/" + name},
                     {"drop_policy", drops ? "drop" : "block"},
                     {"encode", {{"codec", "h264"}, {"gop", "1s"}}},
                     {"record", {{"path", name + "-%s.mp4"}}}};
  };
  for (const std::string& name : members) add(name);
  for (const std::string& name : others) add(name);
  const nlohmann::json group{{"cameras", members}, {"rate", 25}, {"max_wait", "300ms"}, {"on_missing", on_missing}};
  return {{"cameras", std::move(cameras)}, {"workers", {{"count", workers}}}, {"sync_groups", {{"pair", group}}}};
}

}  // namespace

std::vector<nlohmann::json> group_rigs() {
  return {rig_of({"gate", "yard"}, "repeat", true, 1),
          rig_of({"gate", "yard"}, "repeat", false, 2),
          rig_of({"gate", "yard"}, "drop", true, 2),
          rig_of({"gate", "yard"}, "wait", false, 2),
          rig_of({"gate", "yard", "door"}, "repeat", true, 2, {"hall"}),
          rig_of({"gate", "yard", "door"}, "drop", false, 3)};
}

}  // namespace campipe::sim
