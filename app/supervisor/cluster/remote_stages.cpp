#include "app/supervisor/cluster/remote_stages.h"

#include <utility>

#include "app/config/rig_settings.h"
#include "app/control/messages/links.h"
#include "app/control/messages/shared_links.h"
#include "app/supervisor/rig/remote_parts.h"
#include "core/log.h"
#include "ipc/edge_blocks.h"

namespace campipe {

std::string link_there(const std::string& camera, const std::string& part, const std::string& node) {
  return camera + "/" + part + "/there from " + node;
}
std::string link_back(const std::string& camera, const std::string& part, const std::string& node) {
  return camera + "/" + part + "/back to " + node;
}

void RemoteStages::follow() {
  if (!rig_.settings().cluster) return;
  for (Camera& camera : rig_.cameras.all()) {
    if (!camera.takes_part()) continue;
    for (CameraNode& node : camera.nodes) {
      if (!node.remote.empty() && !node.done) follow(camera, node);
    }
  }
}

void RemoteStages::follow(Camera& camera, CameraNode& node) {
  const std::string peer = peer_of(node);
  say_if_missing(camera, node);
  exchange_.ask(peer);
  ManagedProcess& process = processes_.of(node.process());
  const messages::OfferedLinks* const offered = exchange_.offered_by(peer);
  if (offered == nullptr || !process.child || process.child->killed()) return;
  if (!node.links.key.empty() && node.links.key != offered->key) {
    spdlog::info("{}: its {} goes on at node '{}', which was restarted", camera.name(), remote_part_of(node), peer);
    node.links.begin_again();
  }
  tell(camera, node, process, *offered);
}

void RemoteStages::say_if_missing(const Camera& camera, const CameraNode& node) {
  const std::string peer = peer_of(node);
  if (exchange_.knows(peer)) {
    missing_.erase(peer);
  } else if (exchange_.knows(node_name(*rig_.settings().cluster)) && missing_.insert(peer).second) {
    spdlog::warn(
        "{}: its {} waits for node '{}', which is not in the cluster: start it, or name another one in placement",
        camera.name(), remote_part_of(node), peer);
  }
}

void RemoteStages::tell(Camera& camera, CameraNode& node, ManagedProcess& process,
                        const messages::OfferedLinks& offered) {
  StageLinks& links = node.links;
  const std::string peer = peer_of(node);
  const CameraEdge& output = remote_edge_of(camera, node);
  const std::string own = node_name(*rig_.settings().cluster);
  const std::string back = link_back(camera.name(), remote_part_of(node), own);
  if (links.key.empty()) {
    const auto transport = exchange_.transport_with(peer, offered, false);
    if (!transport) return;
    messages::ReceiveLink message = exchange_.receive(output.id, back, offered.key, *transport);
    message.again = links.again;
    if (!processes_.send(process, message)) return;
    links.key = offered.key;
    links.listens_by = *transport;
  }
  exchange_.offer(links, back);
  messages::SendLink there;
  there.edge = output.id;
  there.name = link_there(camera.name(), remote_part_of(node), own);
  exchange_.follow_sending(links, process, std::move(there), peer, offered);
}

void RemoteStages::on_death() {
  for (Camera& camera : rig_.cameras.all()) {
    for (CameraNode& node : camera.nodes) node.links.begin_again();
  }
}

nlohmann::json stage_link(const std::string& camera, const std::string& part) {
  return {{"mosaic", ""}, {"camera", camera}, {"part", part}};
}

void RemoteStages::add_status(nlohmann::json& links) const {
  for (const Camera& camera : rig_.cameras.all()) {
    for (const CameraNode& node : camera.nodes) {
      if (node.remote.empty() || node.links.key.empty()) continue;
      const LinkBlock& block = rig_.page.link(remote_edge_of(camera, node).id, node.process());
      const auto add = [&](const LinkCounts& counts, bool sends, LinkTransport transport) {
        links.push_back(link_status(stage_link(camera.name(), remote_part_of(node)), peer_of(node), sends, transport,
                                    exchange_.encrypts(), counts.connected == 1, counts));
      };
      add(block.there, true, node.links.sends_by);
      add(block.counts, false, node.links.listens_by);
    }
  }
}

}  // namespace campipe
