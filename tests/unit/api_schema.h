// Whether a value is what a schema of app/publisher/server/api/openapi.json says: the part of JSON Schema that is used
// there.
#pragma once

#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

namespace campipe::test {

class SchemaCheck {
 public:
  explicit SchemaCheck(const nlohmann::json& description) : root_(description) {}

  // "cameras.dock.fps: expected number", one for each mistake.
  [[nodiscard]] std::vector<std::string> operator()(const nlohmann::json& value, const nlohmann::json& schema) const {
    std::vector<std::string> mistakes;
    check(value, schema, "", mistakes);
    return mistakes;
  }

  [[nodiscard]] const nlohmann::json& resolve(const nlohmann::json& schema) const {
    if (!schema.contains("$ref")) return schema;
    const std::string reference = schema["$ref"];
    return root_.at(nlohmann::json::json_pointer(reference.substr(1)));
  }

 private:
  using Mistakes = std::vector<std::string>;

  void check(const nlohmann::json& value, const nlohmann::json& given, const std::string& path,
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

  void check_object(const nlohmann::json& value, const nlohmann::json& schema, const std::string& path,
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

  static bool is(const nlohmann::json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    return type == "integer" ? value.is_number_integer() : value.is_number();
  }

  static bool contains(const nlohmann::json& list, const nlohmann::json& value) {
    for (const auto& item : list) {
      if (item == value) return true;
    }
    return false;
  }

  static bool is_time(const nlohmann::json& value) {
    static const std::regex form(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)");
    return value.is_string() && std::regex_match(value.get<std::string>(), form);
  }

  const nlohmann::json& root_;
};

}  // namespace campipe::test
