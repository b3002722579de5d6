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
  // By stage, and by tile; the last ones on GPUs.
  const json two_stages = {{"filters", {"denoise", "sharpen"}},
                           {"placement", {{"filter", {"cpu:0", "cpu:0"}}, {"encode", "cpu:1"}}}};
  json three_stages = {{"filters", {"denoise", "sharpen"}},
                       {"placement", {{"filter", {"cpu:0", "cpu:1"}}, {"encode", "cpu:2"}}}};
  three_stages["outputs"]["small"] = {{"encode", {{"codec", "h264"}, {"gop", "1s"}}},
                                      {"record", {{"path", "small-%s.mp4"}}}};
  const json two_tiles = {{"filters", {"denoise"}}, {"placement", {{"tiles", {"cpu:0", "cpu:1"}}}}};
  const json three_tiles = {{"filters", {"denoise"}},
                            {"placement", {{"tiles", {"cpu:0", "cpu:1", "cpu:2"}}, {"encode", "cpu:1"}}}};
  const json stages_on_gpus = {{"filters", {"denoise", "sharpen"}},
                               {"placement", {{"decode", 0}, {"filter", {1, 0}}, {"encode", 0}}}};
  const json tiles_on_gpus = {{"filters", {"denoise"}}, {"placement", {{"tiles", {0, 1}}, {"encode", 1}}}};
  return {{rig_of({{"gate", any}, {"yard", any}}), 1},
          {rig_of({{"gate", any}, {"yard", any}, {"door", any}, {"hall", any}}), 2},
          {rig_of({{"gate", first}, {"yard", second}, {"door", cpu}, {"hall", last}}), 2},
          {rig_of({{"gate", first}, {"yard", apart}}), 2},
          {rig_of({{"gate", first}, {"yard", cpu}, {"door", cpu}}, 2), 1},
          {rig_of({{"gate", two_stages}, {"yard", any}}, 2), 0},
          {rig_of({{"gate", any}, {"yard", three_stages}}, 3), 0},
          {rig_of({{"gate", two_tiles}, {"yard", any}}, 2), 0},
          {rig_of({{"gate", any}, {"yard", three_tiles}}, 3), 0},
          {rig_of({{"gate", stages_on_gpus}, {"yard", first}}), 2},
          {rig_of({{"gate", any}, {"yard", tiles_on_gpus}}), 2}};
}

}  // namespace campipe::sim
