// Cameras as the supervisor has them, for tests of its parts.
#pragma once

#include <optional>

#include "app/supervisor/rig/camera.h"

namespace campipe::test {

// In worker 0. It reads an edge from the node that was added before; the first one from the source.
inline CameraNode& add_node(Camera& camera, NodeId node, EdgeId edge) {
  CameraEdge& added = camera.edges.emplace_back();
  added.id = edge;
  added.readers.emplace_back().node = node;
  if (!camera.nodes.empty()) added.writer = camera.nodes.back().id;
  return camera.nodes.emplace_back(CameraNode{.id = node, .tile = std::nullopt, .watch = ThreadWatch(thread_hangs)});
}

}  // namespace campipe::test
