#include "app/publisher/server/api/description.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/publisher/server/page.h"
#include "ipc/counter_table.h"

namespace campipe {
namespace {

using nlohmann::json;

// "/a/b" is the property `b` of the object that is the property `a`.
json& property_of(json& schema, const std::string& path) {
  json* property = &schema;
  std::istringstream names(path.substr(1));
  for (std::string name; std::getline(names, name, '/');) {
    property = &(*property)["properties"][name];
    if (!property->contains("type")) (*property)["type"] = "object";
  }
  return *property;
}

std::string make() {
  json description = json::parse(find_page_file("openapi.json")->bytes);
  json& camera = description.at("components").at("schemas").at("Camera");
  for (const CounterInfo& info : counter_table)
    property_of(camera, path_in_status(info)) = {{"type", "integer"}, {"description", info.meaning}};
  return description.dump(2);
}

}  // namespace

const std::string& api_description() {
  static const std::string text = make();
  return text;
}

}  // namespace campipe
