// What app/publisher/server/api/openapi.json promises, and what answers of a real rig were seen to hold. Parts have
// names: "Camera.motion.events" is a property of a schema, "Camera.state=waiting" one of the values that it lists,
// "History.fps=null" that it may be null.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/unit/api_schema.h"
#include "tests/unit/http_client.h"

namespace campipe::test {

using Names = std::set<std::string>;

inline Names without(const Names& all, const Names& others) {
  Names left;
  std::ranges::set_difference(all, others, std::inserter(left, left.end()));
  return left;
}

// A part that only a node has of which there are others: cameras and recordings of theirs.
inline bool is_of_other_nodes(const std::string& part) {
  static const Names parts{"Camera.node",    "Camera.time_utc",           "Camera.state=unreachable",
                           "Recording.node", "getRecordings.unreachable", "Cluster.nodes.problem"};
  return parts.contains(part);
}

// A part that only a rig has that is a node of a cluster, alone as well.
inline bool is_of_a_cluster(const std::string& part) {
  if (is_of_other_nodes(part)) return false;
  return part.starts_with("Cluster.") || part.starts_with("drainNode.") || part.starts_with("moveToNode.") ||
         part.starts_with("Status.cluster") || part.find(" /cluster") != std::string::npos ||
         part.starts_with("campipe_cluster_");
}

class DescribedApi {
 public:
  using json = nlohmann::json;

  // The rig must answer already.
  DescribedApi(std::uint16_t port, const std::string& token)
      : port_(port),
        headers_("Authorization: Bearer " + token + "\r\nContent-Type: application/json\r\n"),
        description_(json::parse(ask(port, "GET /api/v1/openapi.json", headers_).body)) {
    for (const auto& [path, methods] : description_.at("paths").items()) promise_calls(path, methods);
    promise({{"$ref", "#/components/schemas/Error"}}, "");
  }

  // `path`: as described; `name` stands for {name}. The answer is checked, and what is in it counts as seen.
  json call(const std::string& method, const std::string& path, const std::string& name = "",
            const std::string& body = "", int status = 200) {
    const std::string called = method + " /api/v1" + with_name(path, name);
    const Reply reply = ask(port_, called, headers_, body);
    EXPECT_EQ(reply.status, status) << called << ": " << reply.body;
    json answer = json::parse(reply.body, nullptr, false);
    const json& operation = description_.at("paths").at(path).at(lower(method));
    const std::string code = std::to_string(reply.status);
    EXPECT_TRUE(operation.at("responses").contains(code)) << called << " answers " << code;
    if (!operation.at("responses").contains(code)) return answer;
    if (reply.status < 300) seen_.insert(method + " " + path);
    if (is_stream(operation.at("responses").at(code))) return answer;
    see_answer(answer, schema_of(operation.at("responses").at(code)), operation.at("operationId"));
    return answer;
  }

  // Of everything that is only looked at, of a rig that is no node of a cluster; what answers with this description is
  // left out.
  void call_all_gets(const std::string& camera) {
    for (const auto& [path, methods] : description_.at("paths").items()) {
      if (!methods.contains("get") || path == description_path) continue;
      call("GET", path, camera, "", path == "/cluster" ? 404 : 200);
    }
    seen_.insert(std::string("GET ") + description_path);
  }

  void see_status(const json& status) { see_answer(status, {{"$ref", "#/components/schemas/Status"}}, "Status"); }

  [[nodiscard]] const json& description() const { return description_; }
  [[nodiscard]] const Names& promised() const { return promised_; }
  [[nodiscard]] const Names& seen() const { return seen_; }
  // What is wrong with answers.
  [[nodiscard]] const Names& mistakes() const { return mistakes_; }

  [[nodiscard]] const json& resolve(const json& schema) const { return check_.resolve(schema); }

 private:
  static constexpr const char* description_path = "/openapi.json";

  static std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  }

  static std::string with_name(const std::string& path, const std::string& name) {
    const auto at = path.find("{name}");
    return at == std::string::npos ? path : path.substr(0, at) + name + path.substr(at + 6);
  }

  // It has no end, and is no JSON.
  [[nodiscard]] bool is_stream(const json& response) const {
    return resolve(response).at("content").contains("text/event-stream");
  }

  [[nodiscard]] const json& schema_of(const json& response) const {
    return resolve(response).at("content").at("application/json").at("schema");
  }

  // A schema with a name of its own is called by that wherever it is used.
  static std::string name_of(const json& schema, const std::string& place) {
    if (!schema.contains("$ref")) return place;
    const std::string reference = schema.at("$ref");
    return reference.substr(reference.rfind('/') + 1);
  }

  void promise_calls(const std::string& path, const json& methods) {
    for (const char* method : {"GET", "PUT", "POST", "DELETE"}) {
      if (!methods.contains(lower(method))) continue;
      promised_.insert(std::string(method) + " " + path);
      const json& operation = methods.at(lower(method));
      for (const char* good : {"200", "201"}) {
        const json& responses = operation.at("responses");
        if (responses.contains(good) && !is_stream(responses.at(good)))
          promise(schema_of(responses.at(good)), operation.at("operationId"));
      }
    }
  }

  void promise(const json& given, const std::string& place) {
    const std::string name = name_of(given, place);
    if (given.contains("$ref") && !walked_.insert(name).second) return;  // a camera has outputs, which are such again
    const json& schema = resolve(given);
    if (schema.value("nullable", false)) promised_.insert(name + "=null");
    for (const auto& value : schema.value("enum", json::array())) promised_.insert(name + "=" + text_of(value));
    const json properties = schema.value("properties", json::object());
    for (const auto& [key, child] : properties.items()) {
      promised_.insert(name + "." + key);
      promise(child, name + "." + key);
    }
    if (schema.contains("items")) promise(schema.at("items"), name);
    if (const auto more = schema.find("additionalProperties"); more != schema.end() && more->is_object())
      promise(*more, name);
  }

  void see_answer(const json& answer, const json& schema, const std::string& name) {
    for (const std::string& mistake : check_(answer, schema)) mistakes_.insert(name + mistake);
    see(answer, schema, name);
  }

  void see(const json& value, const json& given, const std::string& place) {
    const std::string name = name_of(given, place);
    const json& schema = resolve(given);
    if (value.is_null()) seen_.insert(name + "=null");
    if (schema.contains("enum")) seen_.insert(name + "=" + text_of(value));
    if (value.is_array() && schema.contains("items")) {
      for (const auto& item : value) see(item, schema.at("items"), name);
    }
    if (!value.is_object()) return;
    const json properties = schema.value("properties", json::object());
    const json others = schema.value("additionalProperties", json());
    for (const auto& [key, child] : value.items()) {
      if (properties.contains(key)) {
        seen_.insert(name + "." + key);
        see(child, properties.at(key), name + "." + key);
      } else if (others.is_object()) {
        see(child, others, name);
      } else {  // stricter than SchemaCheck, which lets an object without properties hold anything
        mistakes_.insert(name + "." + key + " is not described");
      }
    }
  }

  static std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

  const std::uint16_t port_;
  const std::string headers_;
  const json description_;
  const SchemaCheck check_{description_};
  Names promised_, seen_, mistakes_;
  Names walked_;  // schemas with names
};

}  // namespace campipe::test
