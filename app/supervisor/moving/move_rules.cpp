#include "app/supervisor/moving/move_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "app/config/camera_config.h"
#include "app/placement/stand_ins.h"
#include "core/gpu.h"
#include "ipc/node_block.h"

namespace campipe {
namespace {

// The first of two readers to come to a ring has frames that the other one has not: who has the work must be there.
bool reads_newest_ring(const CameraEdge& edge, const CameraNode& node) {
  const auto& seat = edge.reader(node.id).seat;
  return seat && edge.newest->observer.reader_state(*seat) == ReaderState::live;
}

constexpr auto no_frames = "no frames come to its worker just now";
constexpr auto about_to_begin =
    "its worker is about to begin with its frames, after a start, a move or a change of their size; try again in a "
    "second";

std::string workers_of(const Camera& camera) {
  std::set<unsigned> workers;
  for (const CameraNode& node : camera.nodes) {
    if (node.remote.empty()) workers.insert(node.worker);
  }
  return fmt::format("{}", fmt::join(workers, ", "));
}

std::string why_it_has_no_frames(const Output& own) {
  const std::string reason = own.reason.empty() ? "" : ": " + own.reason;
  switch (own.state) {
    case CameraState::starting:
      return "it cannot be moved before its first frame has come";
    case CameraState::waiting:
      return "it cannot be moved while no frames of it come" + reason;
    case CameraState::failed:
      return "it cannot be moved, since it has failed" + reason;
    default:
      return "it cannot be moved, since its source has ended";
  }
}

// `whose`: "its", or those of a cell.
std::string why_unreadable(const ManagedProcess& worker, const RingMemory& memory, const std::string& whose,
                           const Devices& devices) {
  const ProcessPlace& place = worker.place;
  if (memory.kind == MemoryKind::host) return "";
  if (!on_gpu(place.gpu))
    return fmt::format("{} frames are in a GPU's memory, and worker {} works on the CPU", whose, worker.number);
  if (std::ranges::find(place.sees, memory.device) == place.sees.end())
    return fmt::format("worker {} was started before any camera needed the GPU that {} frames are on", worker.number,
                       whose);
  const std::string problem = sharing_problem(devices, memory.device, place.gpu, memory.kind);
  if (problem.empty()) return "";
  return fmt::format("worker {} cannot read the memory of the GPU that {} frames are on: {}", worker.number, whose,
                     problem);
}

}  // namespace

std::string why_no_node(const Camera& camera, std::optional<unsigned> from) {
  if (!from && !camera.is_staged()) return "";
  if (!from)
    return fmt::format(
        "it is processed by stage or by tile, in the workers {}: say whose part of it is to go over, as in "
        "`campipe move {} WORKER --from {}`",
        workers_of(camera), camera.name(), camera.nodes.front().worker);
  if (std::ranges::find(camera.nodes, *from, &CameraNode::worker) != camera.nodes.end()) return "";
  return fmt::format("worker {} has no part of it; it is in {}", *from, workers_of(camera));
}

const CameraNode& node_to_move(const Camera& camera, std::optional<unsigned> from) {
  if (!from) return camera.nodes.front();
  return *std::ranges::find(camera.nodes, *from, &CameraNode::worker);
}

std::string never_moved(const Camera& camera, const CameraNode& node) {
  if (!node.remote.empty())
    return fmt::format("its work is done at {}, as its `placement` says, and cannot be moved", node.remote);
  const auto outputs = std::ranges::count(camera.outputs, node.id, &Output::node);
  if (outputs > HandOver::most_outputs)
    return fmt::format("it has more than {} outputs, too many to be moved", HandOver::most_outputs);
  return "";
}

std::string why_unreadable(const RigState& rig, const Camera& camera, const CameraNode& node,
                           const ManagedProcess& worker) {
  const Devices& devices = rig.machine.devices;
  std::string why;
  if (!camera.is_mosaic()) {
    for (const CameraEdge* edge : camera.edges_to(node)) {
      const RingMemory memory = edge->writer ? edge->memory : ring_memory(camera.source.placement, true);
      if (why.empty()) why = why_unreadable(worker, memory, "its", devices);
      const bool is_own = edge->writer && camera.node(*edge->writer).worker == worker.number;
      if (why.empty() && is_own && memory.kind == MemoryKind::cuda_legacy)
        why = "its frames are in a GPU's memory of a kind that the process which writes them cannot read (ipc_memory)";
    }
    return why;
  }
  for_each_cell(rig.cameras, camera.id, [&](const Camera& shown, const CameraEdge& edge) {
    if (why.empty()) why = why_unreadable(worker, edge.memory, shown.name() + "'s", devices);
  });
  return why;
}

std::string why_unreadable(const RigState& rig, const ManagedProcess& worker, const RingMemory& memory) {
  return why_unreadable(worker, memory, "its", rig.machine.devices);
}

std::string why_it_ends(const RigState& rig, const Camera& camera) {
  if (rig.phase != RunPhase::running) return "the rig is ending";
  if (camera.retiring) {
    if (!camera.successor) return "it is being removed";
    return (*camera.successor)->enabled ? "it is being changed" : "it is disabled";
  }
  if (camera.own().state == CameraState::failed) return "it has failed: " + camera.own().reason;
  return "its source has ended";
}

std::string why_cancelled_by(const CameraEdge& frames, const FrameRingMemory& next) {
  constexpr auto what_now = "it stays on its worker, and can be moved again";
  const FrameFormat& now = next.expected();
  const FrameFormat before = frames.newest ? frames.newest->observer.memory().expected() : FrameFormat{};
  const bool has_changed = std::pair(before.width, before.height) != std::pair(now.width, now.height);
  if (has_changed && before.width > 0 && now.width > 0)
    return fmt::format("its frames changed from {}x{} to {}x{} meanwhile; {}", before.width, before.height, now.width,
                       now.height, what_now);
  return fmt::format("its frames come in another ring: {}; {}",
                     frames.writer ? "a worker that it comes from began anew"
                                   : "the source was connected anew, or another decoder took over",
                     what_now);
}

std::string why_not_moved(const RigState& rig, const Camera& camera) {
  if (!camera.takes_part()) return "it is disabled";
  if (camera.move && camera.move->cancelled)
    return "a move of it that was given up is about to end; try again in a second";
  if (camera.move) return "it is being moved already";
  if (camera.retiring || camera.relocation) return "it is being changed";
  if (camera.own().state != CameraState::running) return why_it_has_no_frames(camera.own());
  if (!camera.is_mosaic() && !camera.uses_worker()) return "it is passed on as it comes: no worker has work with it";
  if (rig.phase != RunPhase::running || camera.source.over) return why_it_ends(rig, camera);
  if (camera.shed == ShedStep::off)
    return "nothing of it is decoded just now, since cameras of higher priority need the time (`priority`)";
  return "";
}

std::string why_not_moved(const RigState& rig, const Camera& camera, const CameraNode& node,
                          const ManagedProcess& worker) {
  if (std::string why = never_moved(camera, node); !why.empty()) return why;
  if (!is_own_worker(worker)) return fmt::format("worker {} works for other nodes of the cluster", worker.number);
  if (node.worker == worker.number) return fmt::format("it is on worker {} already", worker.number);
  if (is_gone(rig.machine.devices, worker.place.gpu)) return fmt::format("the GPU of worker {} is gone", worker.number);
  if (node.done) return why_it_ends(rig, camera);
  if (camera.is_mosaic()) {
    if (rig.page.node(node.id, node.process()).clock.first == 0) return "its clock has not begun yet";
  }
  bool comes = camera.is_mosaic();
  for (const CameraEdge* edge : camera.edges_to(node)) {
    const bool is_open = edge->newest && edge->newest->observer.writer_state() == WriterState::open;
    if (!is_open && node.joins) continue;  // of frames that are not tiled, some tiles make nothing
    if (!is_open) return edge->writer ? about_to_begin : no_frames;
    if (!reads_newest_ring(*edge, node)) return about_to_begin;
    comes = true;
  }
  if (!comes) return no_frames;
  // The frames of a camera with one node can come through host memory; what nodes make for others stays where it is.
  return camera.is_mosaic() || camera.is_staged() ? why_unreadable(rig, camera, node, worker) : "";
}

}  // namespace campipe
