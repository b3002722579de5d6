#include "app/control/camera_placement.h"

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace campipe {

nlohmann::json to_json(const Placement& placement) {
  return {{"decode_gpu", to_string(placement.decode_gpu)},
          {"decode_cpus", placement.decode_cpus},
          {"memory", static_cast<int>(placement.memory)},
          {"ready", static_cast<int>(placement.ready)},
          {"gpu", to_string(placement.gpu)},
          {"hardware_encoder", placement.hardware_encoder},
          {"encode_cores", placement.encode_cores}};
}

Placement placement_from_json(const nlohmann::json& json) {
  const auto decode_gpu = device_from_string(json.at("decode_gpu"));
  const auto gpu = device_from_string(json.at("gpu"));
  if (!decode_gpu || !gpu) throw Error("a camera's placement names no device");
  return {*decode_gpu,
          json.at("decode_cpus").get<std::vector<unsigned>>(),
          static_cast<MemoryKind>(json.at("memory").get<int>()),
          static_cast<ReadySignal>(json.at("ready").get<int>()),
          *gpu,
          json.at("hardware_encoder"),
          json.at("encode_cores")};
}

}  // namespace campipe
