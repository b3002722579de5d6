// Whether a value is what a schema of app/publisher/server/api/openapi.json says: the part of JSON Schema that is used
// there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace campipe::test {

class SchemaCheck {
 public:
  explicit SchemaCheck(const nlohmann::json& description) : root_(description) {}

  // "cameras.dock.fps: expected number", one for each mistake.
  [[nodiscard]] std::vector<std::string> operator()(const nlohmann::json& value, const nlohmann::json& schema) const;

  [[nodiscard]] const nlohmann::json& resolve(const nlohmann::json& schema) const {
    if (!schema.contains("$ref")) return schema;
    const std::string reference = schema["$ref"];
    return root_.at(nlohmann::json::json_pointer(reference.substr(1)));
  }

 private:
  using Mistakes = std::vector<std::string>;

  void check(const nlohmann::json& value, const nlohmann::json& given, const std::string& path,
             Mistakes& mistakes) const;

  void check_object(const nlohmann::json& value, const nlohmann::json& schema, const std::string& path,
                    Mistakes& mistakes) const;

  static bool is(const nlohmann::json& value, const std::string& type);

  static bool contains(const nlohmann::json& list, const nlohmann::json& value);

  static bool is_time(const nlohmann::json& value);

  const nlohmann::json& root_;
};

}  // namespace campipe::test
