#include "app/publisher/server/api/shown_status.h"

#include <utility>

#include "app/publisher/server/api/request.h"

namespace campipe {

using nlohmann::json;

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
    if (identity.may(Permission::view, name)) seen[name] = camera;
  }
  return seen;
}

}  // namespace campipe
