#include "tests/sim/cluster_rigs.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace campipe::sim {
namespace {

struct Kind {
  const char* name;
  bool stops = false;  // where its node is cut off
  bool pushes = false;
};

// Policies alternate.
nlohmann::json node_with(const std::vector<Kind>& kinds, unsigned workers) {
  nlohmann::json cameras;
  bool drops = true;
  for (const Kind& kind : kinds) {
    const std::string name = kind.name;
    nlohmann::json& camera = cameras[name] = {{"source", "rtsp://192.0.2.1/" + name},
                                              {"drop_policy", std::exchange(drops, !drops) ? "drop" : "block"},
                                              {"encode", {{"codec", "h264"}, {"gop", "1s"}}},
                                              {"record", {{"path", name + "-%s.mp4"}}}};
    if (kind.stops) camera["on_partition"] = "stop";
    if (kind.pushes) camera["push"] = {"rtmp://192.0.2.7/live/" + name};
  }
  const nlohmann::json cluster{
      {"name", "site"}, {"node", "here"}, {"etcd", {"http://127.0.0.1:2379"}}, {"address", "127.0.0.1:7000"}};
  return {{"cluster", cluster}, {"cameras", std::move(cameras)}, {"workers", {{"count", workers}}}};
}

}  // namespace

std::vector<nlohmann::json> cluster_rigs() {
  return {node_with({{"gate", false, true}}, 1), node_with({{"gate", true, true}, {"yard"}}, 2),
          node_with({{"gate"}, {"yard", false, true}, {"door", true}}, 2),
          node_with({{"gate", false, true}, {"yard", true, true}, {"door"}, {"hall", true}}, 1)};
}

}  // namespace campipe::sim
