#include "app/supervisor/remote_stages.h"

#include <algorithm>

#include "app/config/names.h"
#include "app/config/remote_place.h"
#include "core/log.h"

namespace campipe {
namespace {

std::string part_of(const CameraNode& node) { return remote_part_name(node.tile, node.first_filter); }

const CameraEdge& output_of(const Camera& camera, const CameraNode& node) {
  return *std::ranges::find_if(camera.edges,
                               [&](const CameraEdge& edge) { return edge.writer == node.id && !edge.cell; });
}

}  // namespace

std::string link_there(const std::string& camera, const std::string& part) { return camera + "/" + part + "/there"; }
std::string link_back(const std::string& camera, const std::string& part) { return camera + "/" + part + "/back"; }

void RemoteStages::follow() {
  if (!rig_.config.cluster) return;
  for (Camera& camera : rig_.cameras.all()) {
    if (!camera.takes_part()) continue;
    for (CameraNode& node : camera.nodes) {
      if (!node.remote.empty() && !node.done) follow(camera, node);
    }
  }
}

void RemoteStages::follow(Camera& camera, CameraNode& node) {
  const std::string peer = remote_place(node.remote)->node;
  exchange_.ask(peer);
  ManagedProcess& relay = processes_.worker(node.worker);
  const messages::OfferedLinks* const offered = exchange_.offered_by(peer);
  if (offered == nullptr || !relay.child || relay.child->killed()) return;
  if (node.links.key.empty() || node.links.key == offered->key) return tell(camera, node, relay, *offered);
  // What frames it had are lost, as with any worker that goes.
  Processes::end_since(relay, "node '" + peer + "' was restarted");
}

void RemoteStages::tell(Camera& camera, CameraNode& node, ManagedProcess& relay,
                        const messages::OfferedLinks& offered) {
  StageLinks& links = node.links;
  const std::string peer = remote_place(node.remote)->node;
  const CameraEdge& output = output_of(camera, node);
  const std::string back = link_back(camera.name(), part_of(node));
  if (links.key.empty()) {
    const auto transport = exchange_.transport_with(peer, offered, false);
    if (!transport) return;
    messages::ReceiveLink message = exchange_.receive(output.id, back, offered.key, *transport);
    message.again = links.again;
    if (!processes_.send(relay, message)) return;
    links.key = offered.key;
    links.back = *transport;
  }
  if (links.back_port != 0) exchange_.offer({back, links.back_port, links.back});
  const std::string there = link_there(camera.name(), part_of(node));
  const auto* const its = find_link(offered, there);
  if (its == nullptr || (its->port == links.there_port && its->transport == links.there)) return;
  const std::string address = exchange_.address_of(peer, its->port);
  if (address.empty()) return;
  const messages::SendLink message{camera.edges_to(node).front()->id,
                                   there,
                                   address,
                                   offered.key,
                                   0,
                                   exchange_.encrypts(),
                                   its->transport,
                                   links.again};
  if (!processes_.send(relay, message)) return;
  links.there_port = its->port;
  links.there = its->transport;
}

void RemoteStages::on_death(const ManagedProcess& relay) {
  for (Camera& camera : rig_.cameras.all()) {
    for (CameraNode& node : camera.nodes) {
      if (node.worker != relay.number || node.remote.empty()) continue;
      const bool was_told = !node.links.key.empty();
      const bool again = node.links.again || was_told;
      node.links = {};
      node.links.again = again;
    }
  }
}

nlohmann::json stage_link_status(const std::string& camera, const std::string& part, const std::string& peer,
                                 bool sends, LinkTransport transport, bool encrypted, const LinkCounts& counts) {
  return {{"mosaic", ""},
          {"camera", camera},
          {"part", part},
          {"peer", peer},
          {"direction", sends ? "sends" : "receives"},
          {"transport", choice_name(transport)},
          {"encrypted", encrypted},
          {"connected", counts.connected == 1},
          {"connections", counts.connections.load()},
          {"refused", counts.refused.load()},
          {"frames", sends ? counts.taken.load() : counts.settled.load()},
          {"delivered", counts.delivered.load()},
          {"dropped", counts.dropped.load()},
          {"lost", counts.lost.load()},
          {"bytes", counts.bytes.load()}};
}

void RemoteStages::add_status(nlohmann::json& links) const {
  for (const Camera& camera : rig_.cameras.all()) {
    for (const CameraNode& node : camera.nodes) {
      if (node.remote.empty() || node.links.key.empty()) continue;
      const std::string peer = remote_place(node.remote)->node;
      const auto add = [&](const CameraEdge& edge, bool sends, LinkTransport transport) {
        links.push_back(stage_link_status(camera.name(), part_of(node), peer, sends, transport, exchange_.encrypts(),
                                          rig_.page.link(edge.id, node.process()).counts));
      };
      add(*camera.edges_to(node).front(), true, node.links.there);
      add(output_of(camera, node), false, node.links.back);
    }
  }
}

}  // namespace campipe
