// JSON of the configuration's types as they travel in messages (app/control/json_fields.h).
#pragma once

#include <nlohmann/json.hpp>
#include <type_traits>

#include "app/config/drop_policy.h"
#include "app/control/json_fields.h"
#include "stages/filters/filter_config.h"

namespace campipe {

struct CameraConfig;
struct ClusterConfig;
struct FrameRegion;
struct MosaicCell;
struct MosaicConfig;
struct ResolvedOutput;
struct Rgb;
struct ServerConfig;

template <>
struct JsonOf<CameraConfig> {
  static nlohmann::json write(const CameraConfig& camera);
  static CameraConfig read(const nlohmann::json& from);
};
template <>
struct JsonOf<ResolvedOutput> {
  static nlohmann::json write(const ResolvedOutput& output);
  static ResolvedOutput read(const nlohmann::json& from);
};
template <>
struct JsonOf<ClusterConfig> {
  static nlohmann::json write(const ClusterConfig& cluster);
  static ClusterConfig read(const nlohmann::json& from);
};
template <>
struct JsonOf<FilterParameters> {
  static nlohmann::json write(const FilterParameters& parameters) { return parameters; }
  static FilterParameters read(const nlohmann::json& from) { return from.get<FilterParameters>(); }
};
template <>
struct FieldsOf<FilterConfig> {
  static void fields(auto& m, auto&& f) { f("name", m.name), f("parameters", m.parameters); }
};
template <>
struct FieldsOf<Rgb> {
  static void fields(auto& m, auto&& f) { f("red", m.red), f("green", m.green), f("blue", m.blue); }
};
template <>
struct FieldsOf<FrameRegion> {
  static void fields(auto& m, auto&& f) { f("x", m.x), f("y", m.y), f("width", m.width), f("height", m.height); }
};
template <>
struct FieldsOf<MosaicCell> {
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("region", m.region); }
};
template <>
struct FieldsOf<MosaicConfig> {
  static void fields(auto& m, auto&& f) {
    f("width", m.width), f("height", m.height), f("rate", m.rate), f("labels", m.labels), f("background", m.background),
        f("cells", m.cells);
  }
};
template <>
struct LastOf<DropPolicy> : std::integral_constant<DropPolicy, DropPolicy::block> {};
template <>
struct JsonOf<ServerConfig> {
  static nlohmann::json write(const ServerConfig& server);
  static ServerConfig read(const nlohmann::json& from);
};

}  // namespace campipe
