#include "app/config/loaded_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "app/config/config.h"
#include "app/config/json.h"
#include "core/error.h"

namespace campipe {
namespace {

using nlohmann::json;

json document_to_json(ConfigDocument document) { return static_cast<int>(document); }
ConfigDocument document_from_json(const json& from) { return static_cast<ConfigDocument>(from.get<int>()); }

json place_to_json(const ConfigPlace& place) {
  return {{"line", place.line},
          {"column", place.column},
          {"path", place.path},
          {"shown", place.shown},
          {"document", document_to_json(place.document)}};
}

ConfigPlace place_from_json(const json& from) {
  return {from.at("line"), from.at("column"), from.at("path"), from.at("shown"),
          document_from_json(from.at("document"))};
}

json list_to_json(const std::vector<ConfigPlace>& places) {
  json list = json::array();
  for (const ConfigPlace& place : places) list.push_back(place_to_json(place));
  return list;
}

std::vector<ConfigPlace> list_from_json(const json& from) {
  std::vector<ConfigPlace> places;
  for (const json& place : from) places.push_back(place_from_json(place));
  return places;
}

json places_to_json(const GpuPlaces& places) {
  json output_filters = json::array();
  for (const auto& filters : places.output_filters) output_filters.push_back(list_to_json(filters));
  return {{"gpu", place_to_json(places.gpu)},
          {"decode_gpu", place_to_json(places.decode_gpu)},
          {"ipc_memory", place_to_json(places.ipc_memory)},
          {"encoder", place_to_json(places.encoder)},
          {"output_encoders", list_to_json(places.output_encoders)},
          {"stage_decode", place_to_json(places.stage_decode)},
          {"stage_filter", place_to_json(places.stage_filter)},
          {"stage_encode", place_to_json(places.stage_encode)},
          {"stage_tiles", place_to_json(places.stage_tiles)},
          {"source", place_to_json(places.source)},
          {"filters", list_to_json(places.filters)},
          {"output_filters", std::move(output_filters)}};
}

GpuPlaces places_from_json(const json& from) {
  GpuPlaces places{place_from_json(from.at("gpu")),
                   place_from_json(from.at("decode_gpu")),
                   place_from_json(from.at("ipc_memory")),
                   place_from_json(from.at("encoder")),
                   list_from_json(from.at("output_encoders")),
                   place_from_json(from.at("stage_decode")),
                   place_from_json(from.at("stage_filter")),
                   place_from_json(from.at("stage_encode")),
                   place_from_json(from.at("stage_tiles")),
                   place_from_json(from.at("source")),
                   list_from_json(from.at("filters"))};
  for (const json& filters : from.at("output_filters")) places.output_filters.push_back(list_from_json(filters));
  return places;
}

bool has_mistake_in(const LoadedConfig& loaded, const std::string& section) {
  return std::ranges::any_of(loaded.errors, [&](const ConfigError& error) {
    return error.path.empty() || error.path == section || error.path.starts_with(section + '.') ||
           error.path.starts_with(section + '[');
  });
}

}  // namespace

json to_json(const ConfigError& error) {
  return {{"line", error.line}, {"column", error.column},   {"contradicts", error.contradicts},
          {"path", error.path}, {"message", error.message}, {"document", document_to_json(error.document)}};
}

ConfigError config_error_from_json(const json& from) {
  return {from.at("line"),
          from.at("column"),
          from.at("path"),
          from.at("message"),
          document_from_json(from.at("document")),
          from.at("contradicts")};
}

json to_json(const LoadedConfig& loaded) {
  json errors = json::array();
  for (const ConfigError& error : loaded.errors) errors.push_back(to_json(error));
  json conditions = json::array();
  for (const ConfigError& condition : loaded.conditions) conditions.push_back(to_json(condition));
  json places = json::array();
  for (const GpuPlaces& camera : loaded.gpu_places) places.push_back(places_to_json(camera));
  // What has mistakes is not to be used, and may have values that are none.
  const bool has_cluster = loaded.rig.cluster && !has_mistake_in(loaded, "cluster");
  return {{"rig", loaded.errors.empty() ? to_json(loaded.rig) : json()},
          {"cluster", has_cluster ? to_json(*loaded.rig.cluster) : json()},
          {"gpu_places", std::move(places)},
          {"errors", std::move(errors)},
          {"conditions", std::move(conditions)},
          {"digest", loaded.digest}};
}

LoadedConfig loaded_from_json(const json& from) try {
  LoadedConfig loaded;
  if (const json& rig = from.at("rig"); !rig.is_null()) loaded.rig = rig_from_json(rig);
  if (const json& cluster = from.at("cluster"); !cluster.is_null()) loaded.rig.cluster = cluster_from_json(cluster);
  for (const json& camera : from.at("gpu_places")) loaded.gpu_places.push_back(places_from_json(camera));
  for (const json& error : from.at("errors")) loaded.errors.push_back(config_error_from_json(error));
  for (const json& condition : from.at("conditions")) loaded.conditions.push_back(config_error_from_json(condition));
  loaded.digest = from.at("digest");
  return loaded;
} catch (const json::exception& error) {
  throw Error(std::string("a configuration as JSON: ") + error.what());
}

}  // namespace campipe
