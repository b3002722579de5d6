// Parts of a camera that other nodes of the cluster do (`placement: {filter: node-b/0}`): their names, and whether the
// links to those nodes are connected. Pure functions of the camera and the page.
#pragma once

#include <optional>
#include <string>

#include "app/supervisor/rig/camera.h"

namespace campipe {

class RigPage;

// `node`: one with `remote`.
std::string peer_of(const CameraNode& node);         // "node-b"
std::string remote_part_of(const CameraNode& node);  // "filter 2", "tile 1"
// The edge that it writes for the next node.
const CameraEdge& remote_edge_of(const Camera& camera, const CameraNode& node);
// Why no frames come from a node of the cluster that does a part of the camera; nothing: all of them are connected.
std::optional<std::string> waits_for_node(const Camera& camera, const RigPage& page);

}  // namespace campipe
