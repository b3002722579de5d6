#include "app/supervisor/guest_stages.h"

#include <algorithm>
#include <utility>

#include "app/config/camera_config.h"
#include "app/config/rig_settings.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/links.h"
#include "app/control/messages/node_parts.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/run_node.h"
#include "app/control/messages/shared_links.h"
#include "app/placement/stand_ins.h"
#include "app/supervisor/remote_stages.h"
#include "core/error.h"
#include "core/log.h"
#include "ipc/edge_blocks.h"

namespace campipe {
namespace {

// For people.
std::string name_of(const std::string& camera, const RemotePart& part) { return camera + ", " + part.name; }

}  // namespace

void GuestStages::follow() {
  if (!cluster_.is_on()) return;
  const std::vector<Wanted> all = wanted();
  end_others(all);
  for (const Wanted& one : all) {
    const bool is_there = std::ranges::any_of(stages_, [&](const Stage& stage) { return stage.wanted == one; });
    if (!is_there) add(one);
  }
  for (Stage& stage : stages_) follow(stage);
}

GuestStages::Wanted GuestStages::asked(const ClusterRig::GuestPart& part, const std::string& by) {
  const CameraConfig& camera = *part.camera;
  return {camera.name, by, *part.part, frame_policy(camera), static_cast<unsigned>(camera.queue_size)};
}

// A node that is away has none.
std::vector<GuestStages::Wanted> GuestStages::wanted() const {
  std::vector<Wanted> all;
  if (rig_.phase != RunPhase::running) return all;
  const std::string own = node_name(*rig_.settings().cluster);
  for (const ClusterRig::GuestPart& part : cluster_.guest_parts()) {
    const std::string peer = node_here(control_.seen(), part.camera->name);
    if (!peer.empty() && peer != own) all.push_back(asked(part, peer));
  }
  return all;
}

// The camera has gone to another node, this one perhaps, and the one before goes on with it until that records it.
bool GuestStages::is_still_used(const Stage& stage) const {
  const Wanted& of = stage.wanted;
  const auto parts = cluster_.guest_parts();
  const bool is_same =
      std::ranges::any_of(parts, [&](const ClusterRig::GuestPart& one) { return asked(one, of.peer) == of; });
  const messages::OfferedLinks* const offered = exchange_.offered_by(of.peer);
  return rig_.phase == RunPhase::running && is_same && is_here(control_.seen(), of.peer) && offered != nullptr &&
         offered->key == stage.links.key && find_link(*offered, link_back(of.camera, of.part.name, of.peer)) != nullptr;
}

void GuestStages::end_others(const std::vector<Wanted>& wanted) {
  std::erase_if(stages_, [&](const Stage& stage) {
    if (std::ranges::find(wanted, stage.wanted) != wanted.end() || is_still_used(stage)) return false;
    spdlog::info("{}: node '{}' needs nothing of it done here any more",
                 name_of(stage.wanted.camera, stage.wanted.part), stage.wanted.peer);
    processes_.send(processes_.worker(stage.worker), messages::ForgetNode{{stage.node}});
    rig_.cameras.release_parts({stage.node}, {stage.input, stage.output});
    return true;
  });
}

void GuestStages::add(const Wanted& wanted) {
  std::string problem;
  try {
    ManagedProcess* const guest = guest_on(wanted.part.at.place);
    if (guest == nullptr) throw Error("there is no GPU " + wanted.part.at.place + " on this node that can be used");
    const PartIds ids = rig_.cameras.reserve_parts(1, 2);
    Stage& stage = stages_.emplace_back();
    stage.wanted = wanted;
    stage.node = ids.nodes[0];
    stage.input = ids.edges[0];
    stage.output = ids.edges[1];
    stage.worker = guest->number;
    spdlog::info("{}: is done here for node '{}'", name_of(wanted.camera, wanted.part), wanted.peer);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  std::string& known = refused_[name_of(wanted.camera, wanted.part)];
  if (std::exchange(known, problem) != problem && !problem.empty())
    spdlog::error("{}: cannot be done for node '{}': {}", name_of(wanted.camera, wanted.part), wanted.peer, problem);
}

// One for each device. Null: there is no such device.
ManagedProcess* GuestStages::guest_on(const std::string& place) {
  ProcessPlace wanted;
  wanted.is_guest = true;
  if (place != "cpu") {
    const Gpu* const gpu = find_gpu(rig_.machine.devices, place);
    if (gpu == nullptr || !can_be_used(*gpu)) return nullptr;
    wanted.gpu = gpu->device;
    wanted.gpu_name = gpu_name(rig_.machine.devices, gpu->device);
    wanted.sees = {gpu->device};
    wanted.numa_node = gpu->numa_node;
    wanted.cpus = gpu->cpus;
  }
  const auto found = std::ranges::find_if(processes_.all(), [&](const ManagedProcess& process) {
    return process.kind == ProcessKind::worker && process.place.is_guest && process.place.gpu == wanted.gpu;
  });
  if (found != processes_.all().end()) return &*found;
  if (processes_.count(ProcessKind::worker) == max_workers) throw Error("there are as many workers as there can be");
  return &processes_.add(ProcessKind::worker, std::move(wanted));
}

void GuestStages::follow(Stage& stage) {
  exchange_.ask(stage.wanted.peer);
  ManagedProcess& guest = processes_.worker(stage.worker);
  const messages::OfferedLinks* const offered = exchange_.offered_by(stage.wanted.peer);
  if (offered == nullptr || !guest.child) return;
  StageLinks& links = stage.links;
  if (!links.key.empty() && links.key != offered->key) {  // it was restarted: so is this, for what it begins
    processes_.send(guest, messages::ForgetNode{{stage.node}});
    links = {};
  }
  if (links.key.empty()) begin(stage, guest, *offered);
  if (links.key.empty()) return;
  const Wanted& wanted = stage.wanted;
  exchange_.offer(links, link_there(wanted.camera, wanted.part.name, wanted.peer));
  exchange_.follow_sending(links, guest, stage.output, link_back(wanted.camera, wanted.part.name, wanted.peer),
                           wanted.peer, *offered);
}

void GuestStages::begin(Stage& stage, ManagedProcess& guest, const messages::OfferedLinks& offered) {
  const auto transport = exchange_.transport_with(stage.wanted.peer, offered, false);
  if (!transport) return;
  const Wanted& wanted = stage.wanted;
  messages::RunNode node;
  node.node = stage.node;
  node.inputs = {stage.input};
  node.name = wanted.camera;
  node.drop_policy = wanted.policy;
  node.queue_size = wanted.queue_size;
  messages::WrittenEdge& edge = node.edges.emplace_back();
  edge.edge = stage.output;
  edge.name = wanted.camera;
  edge.filters = wanted.part.filters;
  edge.drop_policy = wanted.policy;
  edge.queue_size = wanted.queue_size;
  if (on_gpu(guest.place.gpu)) edge.memory = {MemoryKind::host, ReadySignal::immediate, guest.place.gpu};
  if (wanted.part.tile) edge.tile = messages::Tile{*wanted.part.tile, wanted.part.tiles};
  messages::ReceiveLink link =
      exchange_.receive(stage.input, link_there(wanted.camera, wanted.part.name, wanted.peer), offered.key, *transport);
  link.again = stage.links.again;
  if (!processes_.send(guest, node) || !processes_.send(guest, link)) return;
  stage.links.key = offered.key;
  stage.links.listens_by = *transport;
}

bool GuestStages::needs(const ManagedProcess& guest) const {
  return std::ranges::find(stages_, guest.number, &Stage::worker) != stages_.end();
}

void GuestStages::on_death(const ManagedProcess& guest) {
  for (Stage& stage : stages_) {
    if (stage.worker == guest.number) stage.links.process_gone();
  }
}

// Null: the stage was ended while the guest said that.
GuestStages::Stage* GuestStages::find(const ManagedProcess& by, EdgeId edge) {
  const auto found = std::ranges::find_if(stages_, [&](const Stage& stage) {
    return stage.worker == by.number && (stage.input == edge || stage.output == edge);
  });
  return found == stages_.end() ? nullptr : &*found;
}

void GuestStages::on(const ManagedProcess& by, const messages::LinkListens& listens) {
  if (listens.port == 0 || listens.port > 65'535) throw BadMessage("a port that cannot be");
  Stage* const stage = find(by, listens.edge);
  if (stage == nullptr) return;
  if (stage->input != listens.edge) throw BadMessage("a port for what it sends");
  stage->links.listens = listens.port;
}

void GuestStages::on(const ManagedProcess& by, const messages::EdgeFailed& failed) {
  const Stage* const stage = find(by, failed.edge);
  if (stage == nullptr) return;
  spdlog::error("{}: {} (done for node '{}')", name_of(stage->wanted.camera, stage->wanted.part), failed.reason,
                stage->wanted.peer);
}

void GuestStages::add_status(nlohmann::json& links) const {
  for (const Stage& stage : stages_) {
    if (stage.links.key.empty()) continue;
    const auto add = [&](EdgeId edge, bool sends, LinkTransport transport) {
      const LinkCounts& counts = rig_.page.link(edge, worker_process(stage.worker)).counts;
      links.push_back(link_status(stage_link(stage.wanted.camera, stage.wanted.part.name), stage.wanted.peer, sends,
                                  transport, exchange_.encrypts(), counts.connected == 1, counts));
    };
    add(stage.input, false, stage.links.listens_by);
    add(stage.output, true, stage.links.sends_by);
  }
}

}  // namespace campipe
