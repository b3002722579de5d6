#include "app/config/remote_place.h"

#include "app/config/cluster_name.h"
#include "app/config/rig_config.h"
#include "core/error.h"

namespace campipe {

std::optional<RemotePlace> remote_place(const std::string& text) {
  const auto slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  RemotePlace place{text.substr(0, slash), text.substr(slash + 1)};
  if (!is_cluster_name(place.node)) return std::nullopt;
  return place;
}

void require_cluster(const RigConfig& rig) {
  if (rig.cluster) return;
  for (const CameraConfig& camera : rig.cameras) {
    const auto parts = remote_parts(camera);
    if (parts.empty()) continue;
    const RemotePlace& at = parts.front().at;
    throw Error("cameras." + camera.name + ".placement: " + needs_cluster(at.node + "/" + at.place));
  }
}

std::string needs_cluster(const std::string& place) {
  return place + " is a place on another node, and this rig is no node of a cluster (key `cluster`)";
}

void make_own_places_local(CameraConfig& camera, const std::string& node) {
  if (!camera.placement) return;
  const auto make_local = [&](std::string& place) {
    const auto remote = remote_place(place);
    if (remote && remote->node == node) place = remote->place;
  };
  for (std::string& filter : camera.placement->filter) make_local(filter);
  for (std::string& tile : camera.placement->tiles) make_local(tile);
}

std::string remote_part_name(std::optional<unsigned> tile, unsigned first_filter) {
  return tile ? "tile " + std::to_string(*tile) : "filter " + std::to_string(first_filter);
}

std::vector<RemotePart> remote_parts(const CameraConfig& camera) {
  std::vector<RemotePart> parts;
  if (!camera.placement) return parts;
  const std::vector<std::string>& tiles = camera.placement->tiles;
  for (unsigned tile = 0; tile < tiles.size(); ++tile) {
    const auto at = remote_place(tiles[tile]);
    if (at)
      parts.push_back({remote_part_name(tile, 0), *at, camera.filters, tile, static_cast<unsigned>(tiles.size())});
  }
  const std::vector<std::string>& places = camera.placement->filter;
  const auto place_of = [&](std::size_t filter) { return places.size() == 1 ? places.front() : places.at(filter); };
  if (places.empty()) return parts;
  for (std::size_t first = 0; first < camera.filters.size();) {
    std::size_t end = first + 1;
    while (end < camera.filters.size() && place_of(end) == place_of(first)) ++end;
    const auto at = remote_place(place_of(first));
    const auto begin = camera.filters.begin();
    if (at)
      parts.push_back({remote_part_name(std::nullopt, static_cast<unsigned>(first)),
                       *at,
                       {begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end)},
                       {},
                       0});
    first = end;
  }
  return parts;
}

}  // namespace campipe
