#include "app/config/key_values.h"

#include <nlohmann/json.hpp>

#include "app/config/schema_ranges.h"

namespace campipe {

using nlohmann::json;

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string type_text(const IntegerKey&) { return "integer"; }
std::string type_text(const NumberKey&) { return "number"; }
std::string type_text(const DurationKey&) { return "duration"; }

std::string range_of_choices(const std::vector<std::string_view>& names) {
  std::string text;
  for (const auto name : names) text += (text.empty() ? "" : ", ") + code(name);
  return text;
}
std::string range_in_schema(std::string_view schema) {
  std::string text;
  for (const auto& name : json::parse(schema).value("enum", json::array()))
    text += (text.empty() ? "" : ", ") + code(name.get<std::string>());
  return text;
}
std::string range_text(const IntegerKey& values) {
  return (values.may_be_auto ? "`auto`, " : "") + std::to_string(values.min) + " to " + std::to_string(values.max);
}
std::string range_text(const NumberKey& values) { return number_text(values.min) + " to " + number_text(values.max); }
std::string range_text(const DurationKey& values) {
  return (!values.zero.empty() ? "`0`, or " : "") + time_text(values.min) + " to " + time_text(values.max);
}

std::string schema_of_boolean() { return json{{"type", "boolean"}}.dump(); }
std::string schema_of_choices(const std::vector<std::string_view>& names) { return json{{"enum", names}}.dump(); }
std::string compact_schema(std::string_view schema) { return json::parse(schema).dump(); }
std::string schema_text(const IntegerKey& values) {
  json schema{{"type", "integer"}, {"minimum", values.min}, {"maximum", values.max}};
  if (values.may_be_auto) schema = {{"anyOf", {schema, {{"const", "auto"}}}}};
  return schema.dump();
}
std::string schema_text(const NumberKey& values) {
  return json{{"type", "number"}, {"minimum", values.min}, {"maximum", values.max}}.dump();
}
std::string schema_text(const DurationKey& values) {
  json schema = duration_schema(values.min, values.max);
  if (!values.zero.empty())
    schema = {{"anyOf", {schema, {{"const", 0}}, {{"type", "string"}, {"pattern", "^0+(ms|s|m|h|d)?$"}}}}};
  return schema.dump();
}

}  // namespace campipe
