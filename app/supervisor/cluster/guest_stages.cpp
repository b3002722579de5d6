#include "app/supervisor/cluster/guest_stages.h"

#include <algorithm>
#include <utility>

#include "app/config/camera_config.h"
#include "app/config/rig_settings.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/from_worker.h"
#include "app/control/messages/links.h"
#include "app/control/messages/node_parts.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/run_node.h"
#include "app/control/messages/shared_links.h"
#include "app/placement/stand_ins.h"
#include "app/supervisor/cluster/remote_stages.h"
#include "app/supervisor/life/message_checks.h"
#include "core/error.h"
#include "core/log.h"
#include "ipc/edge_blocks.h"

namespace campipe {
namespace {

// For people.
std::string name_of(const std::string& camera, const RemotePart& part) { return camera + ", " + part.name; }

void add_reader(CameraEdge& edge, NodeId node, ProcessId process) {
  EdgeReader& reader = edge.readers.emplace_back();
  reader.node = node;
  reader.process = process;
}

void writer_died(CameraEdge& edge) {
  if (edge.newest) edge.newest->observer.mark_writer_gone();
}

void reader_died(CameraEdge& edge) {
  EdgeReader& reader = edge.readers.front();
  if (edge.newest && reader.seat) edge.newest->observer.mark_reader_gone(*reader.seat);
  reader.unsettled = true;
}

}  // namespace

void GuestStages::follow() {
  if (!cluster_.is_on()) return;
  const std::vector<Wanted> all = wanted();
  end_others(all);
  remove_ended();
  for (const Wanted& one : all) {
    const bool is_there =
        std::ranges::any_of(stages_, [&](const Stage& stage) { return !stage.ending && stage.wanted == one; });
    if (!is_there) add(one);
  }
  for (Stage& stage : stages_) {
    if (!stage.ending) follow(stage);
  }
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
  for (Stage& stage : stages_) {
    if (stage.ending || std::ranges::find(wanted, stage.wanted) != wanted.end() || is_still_used(stage)) continue;
    spdlog::info("{}: node '{}' needs nothing of it done here any more",
                 name_of(stage.wanted.camera, stage.wanted.part), stage.wanted.peer);
    end(stage);
  }
}

// Its ids are another's once both processes have nothing of it any more.
void GuestStages::end(Stage& stage) {
  stage.ending = true;
  if (stage.runs) stage.runs = processes_.send(processes_.worker(stage.worker), messages::ForgetNode{{stage.node}});
  ManagedProcess& links = processes_.of(link_process);
  for (const EdgeId edge : {stage.input.id, stage.output.id})
    stage.ends_left += processes_.send(links, messages::StopLink{edge, true}) ? 1 : 0;
}

void GuestStages::remove_ended() {
  std::erase_if(stages_, [this](const Stage& stage) {
    if (!stage.ending || stage.runs || stage.ends_left > 0) return false;
    const ProcessId worker = worker_process(stage.worker);
    rig_.page.clear(stage.node, worker);
    rig_.page.clear(stage.input.id, link_process, worker);
    rig_.page.clear(stage.output.id, worker, link_process);
    rig_.cameras.release_parts({stage.node}, {stage.input.id, stage.output.id});
    return true;
  });
}

void GuestStages::add(const Wanted& wanted) {
  std::string problem;
  try {
    const ManagedProcess& worker = worker_on(wanted.part.at.place);
    const PartIds ids = rig_.cameras.reserve_parts(1, 2);
    Stage& stage = stages_.emplace_back();
    stage.wanted = wanted;
    stage.node = ids.nodes[0];
    stage.worker = worker.number;
    stage.input.id = ids.edges[0];
    add_reader(stage.input, stage.node, worker.id);
    stage.output.id = ids.edges[1];
    add_reader(stage.output, no_node, link_process);
    spdlog::info("{}: is done here for node '{}'", name_of(wanted.camera, wanted.part), wanted.peer);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  std::string& known = refused_[name_of(wanted.camera, wanted.part)];
  if (std::exchange(known, problem) != problem && !problem.empty())
    spdlog::error("{}: cannot be done for node '{}': {}", name_of(wanted.camera, wanted.part), wanted.peer, problem);
}

// One for each device. Throws Error where there is none.
ManagedProcess& GuestStages::worker_on(const std::string& place) {
  ProcessPlace wanted;
  wanted.for_others = true;
  if (place != "cpu") {
    const Gpu* const gpu = find_gpu(rig_.machine.devices, place);
    if (gpu == nullptr || !can_be_used(*gpu))
      throw Error("there is no GPU " + place + " on this node that can be used");
    wanted.gpu = gpu->device;
    wanted.gpu_name = gpu_name(rig_.machine.devices, gpu->device);
    wanted.sees = {gpu->device};
    wanted.numa_node = gpu->numa_node;
    wanted.cpus = gpu->cpus;
  }
  const auto found = std::ranges::find_if(processes_.all(), [&](const ManagedProcess& process) {
    return process.kind == ProcessKind::worker && process.place.for_others && process.place.gpu == wanted.gpu;
  });
  if (found != processes_.all().end()) return *found;
  if (processes_.count(ProcessKind::worker) == max_workers) throw Error("there are as many workers as there can be");
  return processes_.add(ProcessKind::worker, std::move(wanted));
}

void GuestStages::follow(Stage& stage) {
  const std::string& peer = stage.wanted.peer;
  exchange_.ask(peer);
  const messages::OfferedLinks* const offered = exchange_.offered_by(peer);
  const bool is_other = offered != nullptr && !stage.links.key.empty() && stage.links.key != offered->key;
  if (is_other) return end(stage);  // the peer was restarted: so is this, for what it begins
  if (!stage.runs && processes_.worker(stage.worker).child) run(stage);
  if (offered != nullptr && processes_.of(link_process).child) follow_links(stage, *offered);
  follow_accusations(stage);
  follow_rings(stage);
}

void GuestStages::follow_links(Stage& stage, const messages::OfferedLinks& offered) {
  const Wanted& wanted = stage.wanted;
  if (stage.links.key.empty()) begin_receiving(stage, offered);
  if (stage.links.key.empty()) return;
  exchange_.offer(stage.links, link_there(wanted.camera, wanted.part.name, wanted.peer));
  // Else it is not known yet how many frames an end that died has taken.
  if (!stage.output.readers.front().unsettled) begin_sending(stage, offered);
}

void GuestStages::follow_rings(Stage& stage) {
  if (!rings_.follow(stage.input, link_process, stage.runs)) {
    stage.links.key.clear();  // the end of the link is begun again
    stage.links.again = true;
  }
  ManagedProcess& worker = processes_.worker(stage.worker);
  if (!rings_.follow(stage.output, worker.id, stage.links.sends_to != 0))
    processes_.send(worker, messages::RenewRing{stage.output.id, std::nullopt});
}

// One of the two processes wrote into a ring what cannot be. The worker is ended, which has filters in it: the other
// one has the links of all others.
void GuestStages::follow_accusations(Stage& stage) {
  ManagedProcess& worker = processes_.worker(stage.worker);
  bool is_accused = false;
  for (Accusation* const accusation : {&rig_.page.edge_writer(stage.input.id, link_process).accusation,
                                       &rig_.page.edge_reader(stage.input.id, worker.id).accusation,
                                       &rig_.page.edge_writer(stage.output.id, worker.id).accusation,
                                       &rig_.page.edge_reader(stage.output.id, link_process).accusation})
    is_accused = accusation->exchange(0) != 0 || is_accused;
  if (is_accused && worker.child && !worker.child->killed())
    Processes::end(worker, "is ended: a ring of " + name_of(stage.wanted.camera, stage.wanted.part) + " was damaged");
}

void GuestStages::run(Stage& stage) {
  const Wanted& wanted = stage.wanted;
  ManagedProcess& worker = processes_.worker(stage.worker);
  messages::RunNode node;
  node.node = stage.node;
  node.inputs = {stage.input.id};
  node.name = wanted.camera;
  node.drop_policy = wanted.policy;
  node.queue_size = wanted.queue_size;
  messages::WrittenEdge& edge = node.edges.emplace_back();
  edge.edge = stage.output.id;
  edge.name = wanted.camera;
  edge.filters = wanted.part.filters;
  edge.drop_policy = wanted.policy;
  edge.queue_size = wanted.queue_size;
  edge.epoch = stage.output.epoch + 1;
  edge.base = stage.output.published();
  if (on_gpu(worker.place.gpu)) edge.memory = {MemoryKind::host, ReadySignal::immediate, worker.place.gpu};
  if (wanted.part.tile) edge.tile = messages::Tile{*wanted.part.tile, wanted.part.tiles};
  stage.runs = processes_.send(worker, node);
}

void GuestStages::begin_receiving(Stage& stage, const messages::OfferedLinks& offered) {
  const Wanted& wanted = stage.wanted;
  const auto transport = exchange_.transport_with(wanted.peer, offered, false);
  if (!transport) return;
  messages::ReceiveLink link = exchange_.receive(
      stage.input.id, link_there(wanted.camera, wanted.part.name, wanted.peer), offered.key, *transport);
  link.drop_policy = wanted.policy;
  link.queue_size = wanted.queue_size;
  link.epoch = stage.input.epoch + 1;
  link.base = stage.input.published();
  link.again = stage.links.again;
  if (!processes_.send(processes_.of(link_process), link)) return;
  stage.links.key = offered.key;
  stage.links.listens = 0;
  stage.links.listens_by = *transport;
}

void GuestStages::begin_sending(Stage& stage, const messages::OfferedLinks& offered) {
  const Wanted& wanted = stage.wanted;
  const ReaderFrames frames = stage.output.frames_for(stage.output.readers.front());
  messages::SendLink link;
  link.edge = stage.output.id;
  link.name = link_back(wanted.camera, wanted.part.name, wanted.peer);
  link.taken = frames.meant - frames.recalled;
  link.drop_policy = wanted.policy;
  link.queue_size = wanted.queue_size;
  exchange_.follow_sending(stage.links, processes_.of(link_process), std::move(link), wanted.peer, offered);
}

bool GuestStages::needs(const ManagedProcess& worker) const {
  return std::ranges::any_of(stages_,
                             [&](const Stage& stage) { return stage.worker == worker.number && !stage.ending; });
}

void GuestStages::on_worker_death(const ManagedProcess& worker) {
  for (Stage& stage : stages_) {
    if (stage.worker != worker.number) continue;
    stage.runs = false;
    reader_died(stage.input);
    writer_died(stage.output);
  }
}

void GuestStages::on_link_death() {
  for (Stage& stage : stages_) {
    stage.links.begin_again();
    stage.ends_left = 0;
    writer_died(stage.input);
    reader_died(stage.output);
  }
}

GuestStages::Stage* GuestStages::find(EdgeId edge) {
  const auto found = std::ranges::find_if(
      stages_, [&](const Stage& stage) { return stage.input.id == edge || stage.output.id == edge; });
  return found == stages_.end() ? nullptr : &*found;
}

bool GuestStages::has(EdgeId edge) { return find(edge) != nullptr; }

// Throws BadMessage where the process has no such node.
GuestStages::Stage& GuestStages::find(const ManagedProcess& by, NodeId node) {
  const auto found = std::ranges::find(stages_, node, &Stage::node);
  if (found == stages_.end() || found->worker != by.number) throw BadMessage("something for a node of another worker");
  return *found;
}

void GuestStages::on(const ManagedProcess& by, const messages::FrameRing& ring, std::vector<UniqueFd>& fds,
                     bool incomplete) {
  Stage* const stage = find(ring.edge);
  const bool is_input = stage != nullptr && stage->input.id == ring.edge;
  const bool is_own = stage != nullptr && by.id == (is_input ? link_process : worker_process(stage->worker));
  if (!is_own) throw BadMessage("something for an edge that another process writes");
  if (stage->ending) return;
  CameraEdge& edge = is_input ? stage->input : stage->output;
  require_possible(edge, ring);
  if (incomplete) {
    spdlog::error("{}: begins again: out of descriptors (LimitNOFILE, ulimit -n)",
                  name_of(stage->wanted.camera, stage->wanted.part));
    return end(*stage);
  }
  RingRouter::add(edge, ring, RingRouter::open(fds));
  follow_rings(*stage);
}

void GuestStages::on(const ManagedProcess& /*by*/, const messages::LinkListens& listens) {
  Stage* const stage = find(listens.edge);
  if (listens.port == 0 || listens.port > 65'535 || stage == nullptr || stage->input.id != listens.edge)
    throw BadMessage("a port that cannot be");
  stage->links.listens = listens.port;
}

void GuestStages::on(const ManagedProcess& by, const messages::EdgeDone& done) {
  Stage* const stage = find(done.edge);
  if (by.id != link_process || stage == nullptr || stage->ends_left == 0)
    throw BadMessage("the end of a link that was not to end");
  --stage->ends_left;
}

void GuestStages::on(const ManagedProcess& by, const messages::NodeDone& done) {
  Stage& stage = find(by, done.node);
  if (!stage.ending) throw BadMessage("that it is done with a node whose frames have not ended");
  stage.runs = false;
}

// No memory or descriptors.
void GuestStages::on(const ManagedProcess& by, const messages::FrameRingLost& lost) {
  Stage& stage = find(by, lost.node);
  spdlog::error("{}: begins again: {}", name_of(stage.wanted.camera, stage.wanted.part), lost.reason);
  if (!stage.ending) end(stage);
}

void GuestStages::on(const ManagedProcess& /*by*/, const messages::EdgeFailed& failed) {
  const Stage* const stage = find(failed.edge);
  if (stage == nullptr) throw BadMessage("something for an edge that another process writes");
  spdlog::error("{}: {} (done for node '{}')", name_of(stage->wanted.camera, stage->wanted.part), failed.reason,
                stage->wanted.peer);
}

void GuestStages::add_status(nlohmann::json& links) const {
  for (const Stage& stage : stages_) {
    if (stage.links.key.empty() || stage.ending) continue;
    const auto add = [&](EdgeId edge, bool sends, LinkTransport transport) {
      const LinkCounts& counts = rig_.page.link(edge, link_process).counts;
      links.push_back(link_status(stage_link(stage.wanted.camera, stage.wanted.part.name), stage.wanted.peer, sends,
                                  transport, exchange_.encrypts(), counts.connected == 1, counts));
    };
    add(stage.input.id, false, stage.links.listens_by);
    add(stage.output.id, true, stage.links.sends_by);
  }
}

}  // namespace campipe
