#include "tests/unit/api_schema.h"

#include <regex>

namespace campipe::test {

std::vector<std::string> SchemaCheck::operator()(const nlohmann::json& value, const nlohmann::json& schema) const {
  std::vector<std::string> mistakes;
  check(value, schema, "", mistakes);
  return mistakes;
}

void SchemaCheck::check(const nlohmann::json& value, const nlohmann::json& given, const std::string& path,
                        Mistakes& mistakes) const {
  const nlohmann::json& schema = resolve(given);
  if (value.is_null() && schema.value("nullable", false)) return;
  const std::string type = schema.value("type", "");
  if (!type.empty() && !is(value, type))
    return mistakes.push_back(path + ": expected " + type + ", got " + value.dump());
  if (schema.contains("enum") && !contains(schema["enum"], value))
    mistakes.push_back(path + ": not in enum: " + value.dump());
  if (schema.value("format", "") == "date-time" && !is_time(value))
    mistakes.push_back(path + ": no time: " + value.dump());
  if (value.is_object()) check_object(value, schema, path, mistakes);
  if (!value.is_array() || !schema.contains("items")) return;
  for (std::size_t i = 0; i < value.size(); ++i)
    check(value[i], schema["items"], path + "[" + std::to_string(i) + "]", mistakes);
}

void SchemaCheck::check_object(const nlohmann::json& value, const nlohmann::json& schema, const std::string& path,
                               Mistakes& mistakes) const {
  for (const auto& key : schema.value("required", nlohmann::json::array())) {
    if (!value.contains(key.get<std::string>())) mistakes.push_back(path + ": missing " + key.get<std::string>());
  }
  if (value.size() < schema.value("minProperties", 0U)) mistakes.push_back(path + ": is empty");
  const auto properties = schema.value("properties", nlohmann::json::object());
  const auto others = schema.value("additionalProperties", nlohmann::json(properties.empty()));
  for (const auto& [key, child] : value.items()) {
    const std::string here = path + "." + key;
    if (properties.contains(key)) {
      check(child, properties[key], here, mistakes);
    } else if (others.is_object()) {
      check(child, others, here, mistakes);
    } else if (others == false) {
      mistakes.push_back(here + ": is not described");
    }
  }
}

bool SchemaCheck::is(const nlohmann::json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  return type == "integer" ? value.is_number_integer() : value.is_number();
}

bool SchemaCheck::contains(const nlohmann::json& list, const nlohmann::json& value) {
  for (const auto& item : list) {
    if (item == value) return true;
  }
  return false;
}

bool SchemaCheck::is_time(const nlohmann::json& value) {
  static const std::regex form(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)");
  return value.is_string() && std::regex_match(value.get<std::string>(), form);
}

}  // namespace campipe::test
