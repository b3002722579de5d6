#include "app/publisher/server/nodes/readable.h"

#include <utility>

#include "app/publisher/server/api/description.h"
#include "core/cut_text.h"

namespace campipe {
namespace {

using nlohmann::json;

constexpr std::size_t longest_text = 1024;

const json& schemas() {
  static const json all = json::parse(api_description()).at("components").at("schemas");
  return all;
}

// "#/components/schemas/Camera"
const json& schema_at(const std::string& path) { return schemas().at(path.substr(path.rfind('/') + 1)); }

bool is_of(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  return type != "number" || value.is_number();
}

// Where a value is of another type than it is described with; empty: nowhere.
std::string misshapen(const json& value, const json& described, const std::string& where) {
  const auto reference = described.find("$ref");
  const json& schema = reference == described.end() ? described : schema_at(reference->get_ref<const std::string&>());
  if (value.is_null() && schema.value("nullable", false)) return "";
  if (!is_of(value, schema.value("type", ""))) return where;
  std::string found;
  if (value.is_object()) {
    const auto properties = schema.find("properties");
    const auto others = schema.find("additionalProperties");
    for (auto child = value.begin(); child != value.end() && found.empty(); ++child) {
      const bool is_known = properties != schema.end() && properties->contains(child.key());
      const bool is_described = is_known || (others != schema.end() && others->is_object());
      if (is_described)
        found = misshapen(*child, is_known ? properties->at(child.key()) : *others, where + "." + child.key());
    }
  } else if (value.is_array() && schema.contains("items")) {
    for (std::size_t i = 0; i < value.size() && found.empty(); ++i)
      found = misshapen(value[i], schema.at("items"), where + "[" + std::to_string(i) + "]");
  }
  return found;
}

void shorten_texts(json& value) {
  if (value.is_string()) {
    auto& text = value.get_ref<std::string&>();
    text.resize(cut_at(text, longest_text));
  } else if (value.is_structured()) {
    for (json& child : value) shorten_texts(child);
  }
}

json readable_camera(json camera, const std::string& node) {
  const json& schema = schemas().at("Camera");
  const json& graph = schema.at("properties").at("graph");
  if (camera.is_object() && camera.contains("graph") && !misshapen(camera["graph"], graph, "graph").empty())
    camera.erase("graph");
  std::string where = misshapen(camera, schema, "");
  if (where.empty() && camera.contains("state")) {
    shorten_texts(camera);
    return camera;
  }
  if (where.starts_with('.')) where.erase(0, 1);
  json reason = "unreadable: node '" + node + "' reports what this version of campipe does not know of it" +
                (where.empty() ? "" : " (" + where + ")");
  shorten_texts(reason);
  return {{"state", "unreachable"}, {"reason", std::move(reason)}};
}

}  // namespace

json readable_status(json status, const std::string& node) {
  json read{{"cameras", json::object()}};
  if (!status.is_object()) return read;
  if (const auto time = status.find("time_utc"); time != status.end() && time->is_string()) {
    shorten_texts(*time);
    read["time_utc"] = std::move(*time);
  }
  const auto cameras = status.find("cameras");
  if (cameras == status.end() || !cameras->is_object()) return read;
  for (auto& [name, camera] : cameras->items()) read["cameras"][name] = readable_camera(std::move(camera), node);
  return read;
}

}  // namespace campipe
