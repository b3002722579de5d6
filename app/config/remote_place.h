// Places on other nodes of a cluster, as `placement` names them: "node-b/0", "node-b/cpu".
#pragma once

#include <optional>
#include <string>

#include "stages/filters/filter_config.h"

namespace campipe {

struct CameraConfig;
struct RigConfig;

struct RemotePlace {
  std::string node;
  std::string place;  // there: "cpu", or a GPU's index or UUID
  friend bool operator==(const RemotePlace&, const RemotePlace&) = default;
};

// Nothing: it is one on this machine, or none.
std::optional<RemotePlace> remote_place(const std::string& text);

// Throws Error where a camera has one, and the rig is no node of a cluster.
void require_cluster(const RigConfig& rig);
// What is wrong then, for people. `place`: as it is written.
std::string needs_cluster(const std::string& place);

// What stages and tiles on `node` are for that node itself: "node-b/0" becomes "0".
void make_own_places_local(CameraConfig& camera, const std::string& node);

// A part of a camera's filters that is on another node than the camera: as that node knows it, which does not plan the
// camera. Consecutive filters at one place are one part.
struct RemotePart {
  std::string name;  // "filter 2": the first one of a stage; "tile 0"
  RemotePlace at;
  std::vector<FilterConfig> filters;  // of a tile: all of the camera's
  std::optional<unsigned> tile;
  unsigned tiles = 0;
  friend bool operator==(const RemotePart&, const RemotePart&) = default;
};
std::vector<RemotePart> remote_parts(const CameraConfig& camera);
std::string remote_part_name(std::optional<unsigned> tile, unsigned first_filter);

}  // namespace campipe
