#include "app/config/yaml_json.h"

#include <nlohmann/json.hpp>

namespace campipe {

nlohmann::ordered_json json_of(const YamlNode& node) {
  using Json = nlohmann::ordered_json;
  using Kind = YamlNode::Kind;
  switch (node.kind) {
    case Kind::null:
      return nullptr;
    case Kind::scalar:
      return node.written;
    case Kind::list: {
      Json list = Json::array();
      for (const YamlNode& child : node.children) list.push_back(json_of(child));
      return list;
    }
    case Kind::map:
      break;
  }
  Json map = Json::object();
  for (const YamlNode& child : node.children) map[child.key] = json_of(child);
  return map;
}

}  // namespace campipe
