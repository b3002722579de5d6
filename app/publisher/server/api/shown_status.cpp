#include "app/publisher/server/api/shown_status.h"

#include <algorithm>
#include <utility>

#include "app/publisher/server/api/request.h"
#include "app/publisher/server/api/settled_status.h"

namespace campipe {

using nlohmann::json;

namespace {

// A camera, by its name.
using Sees = std::function<bool(const std::string& camera)>;

Sees sight_of(const Identity& identity, Permission needed = Permission::view) {
  return [&identity, needed](const std::string& camera) { return identity.may(needed, camera); };
}

// "wall" of "node wall", and of "node wall 2".
std::string name_in(const std::string& id) {
  const std::size_t begin = id.find(' ') + 1;
  return id.substr(begin, id.find(' ', begin) - begin);
}

// A camera's frames go to mosaics, too.
void hide_mosaics(json& camera, const std::string& name, const Sees& sees) {
  const auto graph = camera.find("graph");
  if (graph == camera.end() || !graph->is_object()) return;
  const auto is_hidden = [&](const std::string& other) { return other != name && !sees(other); };
  const auto leave_out = [](json& list, const auto& hidden) {
    json kept = json::array();
    for (json& each : list) {
      if (!hidden(each)) kept.push_back(std::move(each));
    }
    list = std::move(kept);
  };
  try {
    leave_out(graph->at("edges"), [&](const json& edge) { return is_hidden(name_in(edge.at("to"))); });
    for (json& node : graph->at("nodes")) {
      leave_out(node.at("streams"),
                [&](const json& stream) { return stream.at("codec") == "frames" && is_hidden(stream.at("output")); });
    }
  } catch (const json::exception&) {
    camera.erase(graph);  // of a node of another version: what it names is not known
  }
}

// What a mosaic shows can be seen in it, but not what its cameras are called.
void hide_cells(json& mosaic, const Sees& sees) {
  const auto cells = mosaic.find("cells");
  if (cells == mosaic.end()) return;
  try {
    for (json& cell : *cells) {
      if (sees(cell.at("camera").get<std::string>())) continue;
      cell["camera"] = "";
      cell.erase("reason");
    }
  } catch (const json::exception&) {
    mosaic.erase(cells);  // of a node of another version: what they name is not known
  }
}

// Of GPUs that are gone: which cameras run elsewhere.
void hide_displaced(json& status, const Sees& sees) {
  const auto gpus = status.find("lost_gpus");
  if (gpus == status.end() || !gpus->is_array()) return;
  for (json& gpu : *gpus) {
    json seen = json::array();
    for (const json& camera : gpu.at("cameras")) {
      if (sees(camera.get<std::string>())) seen.push_back(camera);
    }
    gpu["cameras"] = std::move(seen);
  }
}

// Of a cluster's cameras, wherever they run.
void hide_elsewhere(json& cluster, const Sees& sees) {
  json seen = json::object();
  for (auto& [name, camera] : cluster.at("cameras").items()) {
    if (sees(name)) seen[name] = std::move(camera);
  }
  cluster["cameras"] = std::move(seen);
  json links = json::array();
  for (json& link : cluster.at("links")) {
    const bool sees_both = sees(link.at("mosaic").get<std::string>()) && sees(link.at("camera").get<std::string>());
    if (sees_both) links.push_back(std::move(link));
  }
  cluster["links"] = std::move(links);
}

bool sees_all(const json& cameras, const Sees& sees) {
  const auto all = cameras.items();
  return std::all_of(all.begin(), all.end(), [&](const auto& camera) { return sees(camera.key()); });
}

// Gaps would tell how many are hidden.
void number_anew(json& cameras) {
  std::vector<json*> in_order;
  for (json& camera : cameras) {
    if (camera.contains("order")) in_order.push_back(&camera["order"]);
  }
  std::ranges::stable_sort(in_order, {}, [](const json* order) -> const json& { return *order; });
  for (std::size_t i = 0; i < in_order.size(); ++i) *in_order[i] = i;
}

json seen_of(const json& cameras, const Sees& sees) {
  json seen = json::object();
  for (const auto& [name, camera] : cameras.items()) {
    if (!sees(name)) continue;
    json& own = seen[name] = camera;
    hide_mosaics(own, name, sees);
    hide_cells(own, sees);
  }
  number_anew(seen);
  return seen;
}

}  // namespace

json seen_by(const Identity& identity, json status, Permission needed) {
  const Sees sees = sight_of(identity, needed);
  status["cameras"] = seen_of(status.value("cameras", json::object()), sees);
  status.erase("resources");  // what all cameras take
  hide_displaced(status, sees);
  if (status.contains("cluster")) hide_elsewhere(status["cluster"], sees);
  return status;
}

// Without the mutex: it may take its time.
std::shared_ptr<const json> ShownStatus::newest() const {
  // Who asked of a status without cameras would take them for removed.
  if (!rig_.status_age()) throw ApiError(503, "there is no status of the rig yet; try again in a second", 1);
  return newest_of_();
}

// With its status; under the mutex.
ShownStatus::Shown& ShownStatus::shown_to(const Identity& identity, std::shared_ptr<const json> newest) {
  if (newest_ != newest) {
    newest_ = std::move(newest);
    for_administrators_ = for_viewers_ = {};
  }
  if (!for_administrators_.status) {
    auto clean = std::make_shared<json>(without_secrets(*newest_));
    json& cameras = (*clean)["cameras"];
    if (!cameras.is_object()) cameras = json::object();
    for_administrators_.status = std::move(clean);
  }
  if (identity.administers()) return for_administrators_;
  if (!for_viewers_.status)
    for_viewers_.status = std::make_shared<json>(status_for_viewers(*for_administrators_.status));
  return for_viewers_;
}

std::shared_ptr<const json> ShownStatus::of(const Identity& identity) {
  auto now = newest();
  const std::lock_guard lock(mutex_);
  return shown_to(identity, std::move(now)).status;
}

bool ShownStatus::shows_all(const json& status, const Identity& identity) {
  const auto cluster = status.find("cluster");
  const bool sees_cluster = cluster == status.end() || sees_all(cluster->at("cameras"), sight_of(identity));
  return sees_cluster && sees_all(status.at("cameras"), sight_of(identity));
}

std::shared_ptr<const std::string> ShownStatus::text_of(const Identity& identity) {
  auto now = newest();
  const std::lock_guard lock(mutex_);
  Shown& shown = shown_to(identity, std::move(now));
  if (!shows_all(*shown.status, identity))
    return std::make_shared<std::string>(json_text(seen_by(identity, *shown.status, Permission::view)));
  if (!shown.text) shown.text = std::make_shared<std::string>(json_text(*shown.status));
  return shown.text;
}

std::shared_ptr<const json> ShownStatus::settled_of(const Identity& identity) {
  auto now = newest();
  const std::lock_guard lock(mutex_);
  Shown& shown = shown_to(identity, std::move(now));
  if (!shows_all(*shown.status, identity))
    return std::make_shared<json>(settled_status(seen_by(identity, *shown.status, Permission::view)));
  if (!shown.settled) shown.settled = std::make_shared<json>(settled_status(*shown.status));
  return shown.settled;
}

json ShownStatus::cameras_of(const Identity& identity) {
  return seen_of(of(identity)->at("cameras"), sight_of(identity));
}

std::optional<json> ShownStatus::camera_of(const Identity& identity, const std::string& name) {
  const auto newest = of(identity);
  const json& all = newest->at("cameras");
  const Sees sees = sight_of(identity);
  const json some = sees_all(all, sees) ? json() : seen_of(all, sees);
  const json& cameras = some.is_null() ? all : some;
  const auto found = cameras.find(name);
  return found == cameras.end() ? std::nullopt : std::optional(*found);
}

std::optional<json> ShownStatus::cluster_of(const Identity& identity) {
  const auto newest = of(identity);
  const auto found = newest->find("cluster");
  if (found == newest->end()) return std::nullopt;
  json cluster = *found;
  hide_elsewhere(cluster, sight_of(identity));
  return cluster;
}

}  // namespace campipe
