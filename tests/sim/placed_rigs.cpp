#include "tests/sim/placed_rigs.h"

#include <string>
#include <utility>

namespace campipe::sim {
namespace {

using nlohmann::json;

// `cameras`: what each one has besides. Policies alternate.
json rig_of(const json& cameras, unsigned workers = 1) {
  json all;
  bool drops = true;
  for (const auto& [name, own] : cameras.items()) {
    all[name] = {{"source", "rtsp://192.0.2.1/" + name},
                 {"drop_policy", std::exchange(drops, !drops) ? "drop" : "block"},
                 {"encode", {{"codec", "h264"}, {"gop", "1s"}}},
                 {"record", {{"path", name + "-%s.mp4"}}}};
    all[name].update(own);
  }
  return {{"cameras", std::move(all)}, {"workers", {{"count", workers}}}};
}

}  // namespace

std::vector<PlacedRig> placed_rigs() {
  const json any = json::object();
  const json first = {{"gpu", 0}};
  const json second = {{"gpu", 1}};
  const json cpu = {{"gpu", "cpu"}};
  const json apart = {{"gpu", 1}, {"decode", {{"isolation", "always"}}}};
  const json last = {{"gpu", 1}, {"priority", 40}};
  return {{rig_of({{"gate", any}, {"yard", any}}), 1},
          {rig_of({{"gate", any}, {"yard", any}, {"door", any}, {"hall", any}}), 2},
          {rig_of({{"gate", first}, {"yard", second}, {"door", cpu}, {"hall", last}}), 2},
          {rig_of({{"gate", first}, {"yard", apart}}), 2},
          {rig_of({{"gate", first}, {"yard", cpu}, {"door", cpu}}, 2), 1}};
}

}  // namespace campipe::sim
