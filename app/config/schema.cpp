// The file as a JSON Schema, made of the tables of keys. Every value may be a variable instead.
#include <nlohmann/json.hpp>

#include "app/config/key_table.h"
#include "app/config/schema_ranges.h"
#include "stages/filters/filter.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr const char* name_pattern = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$";

json reference(const std::string& name) { return {{"$ref", "#/$defs/" + name}}; }

json or_variable(const json& schema) { return {{"anyOf", {schema, reference("variable")}}}; }

json map_of(const json& values, int min, int max) {
  return {{"type", "object"},
          {"minProperties", min},
          {"maxProperties", max},
          {"propertyNames", {{"pattern", name_pattern}}},
          {"additionalProperties", values}};
}

// What editors show. Some know no range or default of a value by themselves.
std::string described(const KeyInfo& key) {
  std::string text = documented_meaning(key);
  if (!key.range.empty()) text += "\n\nRange: " + key.range;
  if (!key.text.unit.empty()) text += (key.range.empty() ? "\n\nUnit: " : " ") + std::string(key.text.unit);
  return text + "\n\nDefault: " + key.fallback;
}

// Only where it is the member's own: else the text is for people.
void add_default(const KeyInfo& key, json& schema) {
  if (!key.text.fallback.empty() || key.fallback == "none") return;
  const std::string text =
      key.fallback.starts_with('`') ? key.fallback.substr(1, key.fallback.size() - 2) : key.fallback;
  const bool plain = key.type == "boolean" || ((key.type == "integer" || key.type == "number") && text != "auto");
  schema["default"] = plain ? json::parse(text) : json(text);
}

// `whole`: nothing of it can come from another map, so what is required must be in it.
template <typename Config>
json schema_of(bool whole, std::string_view section = "") {
  json schema{{"type", "object"}, {"properties", json::object()}, {"additionalProperties", false}};
  for (const KeyInfo& key : keys_of<Config>()) {
    if (key.section() != section) continue;
    json value;
    if (key.kind == KeyInfo::Kind::map) {
      value = schema_of<Config>(whole, key.path);
    } else {
      value = json::parse(key.schema);
      if (key.kind == KeyInfo::Kind::value && key.type != "list" && key.type != "map") value = or_variable(value);
    }
    value["description"] = described(key);
    add_default(key, value);
    const std::string name(key.name());
    schema["properties"][name] = std::move(value);
    if (whole && key.is_required()) schema["required"].push_back(name);
    if (key.text.excludes.empty()) continue;
    const std::string other(key.text.excludes.substr(key.text.excludes.rfind('.') + 1));
    if (name < other) schema["not"] = {{"required", {name, other}}};
  }
  return schema;
}

json schema_of(const ParameterInfo& parameter) {
  json number{{"type", parameter.whole || parameter.multiple > 1 ? "integer" : "number"},
              {"minimum", parameter.min},
              {"maximum", parameter.max}};
  if (parameter.multiple > 1) number["multipleOf"] = parameter.multiple;
  if (parameter.odd) number["not"] = {{"multipleOf", 2}};
  json schema = or_variable(number);
  schema["description"] = parameter.description;
  if (parameter.fallback) schema["default"] = *parameter.fallback;
  return schema;
}

json user_schema() {
  json schema = schema_of<UserConfig>(true);
  schema["anyOf"] = {{{"required", {"password"}}}, {{"required", {"token"}}}};
  return schema;
}

// `name`, or `name: {parameter: value}`
json filters_schema() {
  json kinds = json::array({reference("variable")});
  for (const FilterInfo& filter : filter_registry()) {
    json parameters{{"type", "object"}, {"properties", json::object()}, {"additionalProperties", false}};
    for (const ParameterInfo& parameter : filter.parameters) {
      parameters["properties"][std::string(parameter.name)] = schema_of(parameter);
      if (!parameter.fallback) parameters["required"].push_back(parameter.name);
    }
    const bool may_be_bare = !parameters.contains("required");
    if (may_be_bare) {
      kinds.push_back({{"const", filter.name}, {"description", filter.description}});
      parameters["type"] = {"object", "null"};
    }
    kinds.push_back({{"type", "object"},
                     {"description", filter.description},
                     {"properties", {{std::string(filter.name), parameters}}},
                     {"required", {filter.name}},
                     {"additionalProperties", false}});
  }
  return {{"type", "array"}, {"items", {{"anyOf", kinds}}}};
}

json output_schema() {
  json schema = schema_of<OutputConfig>(true);
  json& codecs = schema["properties"]["encode"]["properties"]["codec"]["anyOf"][0]["enum"];
  codecs.erase(0);  // auto
  return schema;
}

json outputs_schema() {
  json schema = map_of(reference("output"), 0, 4);
  schema["propertyNames"]["not"] = {{"const", "main"}};
  return schema;
}

// Editors read 0022 as a number.
json umask_schema() {
  json numbers = json::array();
  for (int tens = 0; tens <= 70; tens += 10) {
    for (int ones = 0; ones <= 7; ++ones) numbers.push_back(tens + ones);
  }
  return {{"anyOf", {{{"type", "string"}, {"pattern", "^00[0-7]{2}$"}}, {{"enum", numbers}}}}};
}

}  // namespace

std::string config_schema() {
  json schema = schema_of<RigConfig>(true);
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "campipe's configuration";
  schema["$defs"] = {
      {"variable", {{"type", "string"}, {"pattern", "\\$\\{"}}},
      {"camera", schema_of<CameraConfig>(false)},
      {"cameras", map_of(reference("camera"), 1, 256)},
      {"mosaics", map_of(schema_of<MosaicKeys>(true), 0, 256)},
      {"output", output_schema()},
      {"outputs", outputs_schema()},
      {"sync_groups", map_of(schema_of<GroupKeys>(true), 0, 128)},
      {"users", map_of(user_schema(), 1, 256)},
      {"filters", filters_schema()},
      {"push",
       {{"type", "array"},
        {"maxItems", 8},
        {"items", or_variable({{"type", "string"}, {"pattern", "^(rtsps?|srt|udp|rtmps?)://"}})}}},
      {"gpu",
       {{"anyOf",
         {{{"type", "integer"}, {"minimum", 0}, {"maximum", 999}},
          {{"type", "string"}, {"pattern", "^(auto|cpu|[0-9]{1,3}|(GPU|MIG)-.+)$"}}}}}},
      {"place",
       {{"anyOf",
         {{{"type", "integer"}, {"minimum", 0}, {"maximum", 999}},
          {{"type", "string"}, {"pattern", "^(auto|cpu|cpu:[0-9]{1,2}|[0-9]{1,3}|(GPU|MIG)-.+)$"}}}}}},
      {"filter_place",
       {{"anyOf",
         {{{"type", "integer"}, {"minimum", 0}, {"maximum", 999}},
          {{"type", "string"},
           {"pattern", "^(auto|cpu:[0-9]{1,2}|([A-Za-z0-9][A-Za-z0-9_.-]{0,63}/)?(cpu|[0-9]{1,3}|(GPU|MIG)-.+))$"}}}}}},
      {"places", {{"type", "array"}, {"minItems", 1}, {"items", or_variable(reference("filter_place"))}}},
      {"tiles",
       {{"anyOf",
         {{{"type", "integer"}, {"minimum", 1}, {"maximum", 8}},
          {{"type", "array"}, {"minItems", 1}, {"maxItems", 8}, {"items", or_variable(reference("filter_place"))}}}}}},
      {"address", {{"type", "string"}, {"pattern", "^(off|.*:[0-9]{1,5})$"}}},
      {"bitrate", range_schema(rate_units, 10e3, 1e9, "bits a second from 10k to 1G (units k, M, G), such as 4M")},
      {"size", range_schema(size_units, 1e6, 1e15, "bytes from 1M to 1000T (units k, M, G, T), such as 20G")},
      {"gop", {{"anyOf", {{{"type", "integer"}, {"minimum", 1}, {"maximum", 100'000}}, duration_schema(1ms, 10min)}}}},
      {"umask", umask_schema()}};
  return schema.dump(2) + "\n";
}

}  // namespace campipe
