#include "app/publisher/server/nodes/places.h"

namespace campipe {

using nlohmann::json;

namespace {

std::string text_of(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& object_of(const json& object, const char* key) {
  static const json none = json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : none;
}

}  // namespace

bool NodePlaces::is_elsewhere(const std::string& camera) const {
  const auto planned = cameras.find(camera);
  return planned != cameras.end() && planned->second != own && !local.contains(camera);
}

std::optional<std::string> NodePlaces::elsewhere(const std::string& camera) const {
  return is_elsewhere(camera) ? std::optional(cameras.at(camera)) : std::nullopt;
}

std::set<std::string> NodePlaces::others(bool here) const {
  std::set<std::string> others;
  for (const auto& [name, node] : nodes) {
    if (node.here == here && name != own) others.insert(name);
  }
  return others;
}

NodePlaces node_places(const json& status) {
  NodePlaces places;
  const json& cluster = object_of(status, "cluster");
  places.own = text_of(cluster, "node");
  const json& nodes = object_of(cluster, "nodes");
  for (const auto& [name, node] : nodes.items())
    places.nodes[name] = {node.is_object() && node.value("here", json()) == json(true), text_of(node, "address")};
  const json& cameras = object_of(cluster, "cameras");
  for (const auto& [name, camera] : cameras.items()) places.cameras[name] = text_of(camera, "node");
  const json& local = object_of(status, "cameras");
  for (const auto& [name, camera] : local.items()) places.local.insert(name);
  return places;
}

}  // namespace campipe
