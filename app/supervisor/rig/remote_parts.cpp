#include "app/supervisor/rig/remote_parts.h"

#include <algorithm>

#include "app/config/remote_place.h"
#include "ipc/edge_blocks.h"
#include "ipc/rig_page.h"

namespace campipe {

std::string peer_of(const CameraNode& node) { return remote_place(node.remote)->node; }

std::string remote_part_of(const CameraNode& node) { return remote_part_name(node.tile, node.first_filter); }

const CameraEdge& remote_edge_of(const Camera& camera, const CameraNode& node) {
  return *std::ranges::find_if(camera.edges,
                               [&](const CameraEdge& edge) { return edge.writer == node.id && !edge.cell; });
}

std::optional<std::string> waits_for_node(const Camera& camera, const RigPage& page) {
  for (const CameraNode* const node : camera.planned_nodes()) {
    if (node->remote.empty() || node->done) continue;
    const LinkBlock& links = page.link(remote_edge_of(camera, *node).id, node->process());
    if (links.there.connected != 1 || links.counts.connected != 1)
      return "waits for node '" + peer_of(*node) + "', where its " + remote_part_of(*node) + " is done";
  }
  return std::nullopt;
}

}  // namespace campipe
