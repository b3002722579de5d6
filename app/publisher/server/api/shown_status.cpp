#include "app/publisher/server/api/shown_status.h"

#include <utility>

#include "app/publisher/server/api/request.h"

namespace campipe {

using nlohmann::json;

namespace {

// "wall" of "node wall", and of "node wall 2".
std::string name_in(const std::string& id) {
  const std::size_t begin = id.find(' ') + 1;
  return id.substr(begin, id.find(' ', begin) - begin);
}

// A camera's frames go to mosaics, too.
void hide_mosaics(json& camera, const std::string& name, const Identity& identity) {
  const auto graph = camera.find("graph");
  if (graph == camera.end() || !graph->is_object()) return;
  const auto is_hidden = [&](const std::string& other) {
    return other != name && !identity.may(Permission::view, other);
  };
  const auto leave_out = [](json& list, const auto& hidden) {
    json kept = json::array();
    for (json& each : list) {
      if (!hidden(each)) kept.push_back(std::move(each));
    }
    list = std::move(kept);
  };
  leave_out(graph->at("edges"), [&](const json& edge) { return is_hidden(name_in(edge.at("to"))); });
  for (json& node : graph->at("nodes")) {
    leave_out(node.at("streams"),
              [&](const json& stream) { return stream.at("codec") == "frames" && is_hidden(stream.at("output")); });
  }
}

}  // namespace

std::shared_ptr<const json> ShownStatus::of(const Identity& identity) {
  // Who asked of a status without cameras would take them for removed.
  if (!rig_.status_age()) throw ApiError(503, "there is no status of the rig yet; try again in a second", 1);
  const std::lock_guard lock(mutex_);
  auto newest = rig_.status();
  if (newest_ != newest) {
    newest_ = std::move(newest);
    auto clean = std::make_shared<json>(without_secrets(*newest_));
    json& cameras = (*clean)["cameras"];
    if (!cameras.is_object()) cameras = json::object();
    for_viewers_ = std::make_shared<json>(status_for_viewers(*clean));
    for_administrators_ = std::move(clean);
  }
  return identity.administers() ? for_administrators_ : for_viewers_;
}

json ShownStatus::cameras_of(const Identity& identity) {
  json seen = json::object();
  const auto newest = of(identity);
  for (const auto& [name, camera] : newest->at("cameras").items()) {
    if (!identity.may(Permission::view, name)) continue;
    hide_mosaics(seen[name] = camera, name, identity);
  }
  return seen;
}

std::optional<json> ShownStatus::camera_of(const Identity& identity, const std::string& name) {
  const auto newest = of(identity);
  const auto found = newest->at("cameras").find(name);
  if (found == newest->at("cameras").end() || !identity.may(Permission::view, name)) return std::nullopt;
  json camera = *found;
  hide_mosaics(camera, name, identity);
  return camera;
}

}  // namespace campipe
