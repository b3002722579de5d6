#include "app/supervisor/move_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/placement/stand_ins.h"
#include "core/gpu.h"

namespace campipe {
namespace {

// The first of two readers to come to a ring has frames that the other one has not: who has the work must be there.
bool reads_newest_ring(const Camera& camera) {
  const auto& seat = camera.frames().reader(camera.nodes.front().id).seat;
  return seat && camera.frames().newest->observer.reader_state(*seat) == ReaderState::live;
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

bool is_staged(const Camera& camera) { return camera.nodes.size() != 1 && !camera.move; }

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

std::string never_moved(const Camera& camera) {
  if (is_staged(camera)) return "it is processed by stage or by tile, and such cameras are not moved";
  if (camera.outputs.size() > HandOver::most_outputs)
    return fmt::format("it has more than {} outputs, too many to be moved", HandOver::most_outputs);
  return "";
}

std::string why_unreadable(const RigState& rig, const Camera& camera, const ManagedProcess& worker) {
  const Devices& devices = rig.machine.devices;
  if (!camera.is_mosaic()) return why_unreadable(rig, worker, ring_memory(camera.source.placement, true));
  std::string why;
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
    return camera.successor->enabled ? "it is being changed" : "it is disabled";
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
  return fmt::format("its frames come in another ring: the source was connected anew, or another decoder took over; {}",
                     what_now);
}

std::string why_not_moved(const RigState& rig, const Camera& camera, const ManagedProcess& worker) {
  if (!camera.takes_part()) return "it is disabled";
  if (camera.move && camera.move->cancelled)
    return "a move of it that was given up is about to end; try again in a second";
  if (camera.move) return "it is being moved already";
  if (camera.retiring || camera.relocation) return "it is being changed";
  if (camera.own().state != CameraState::running) return why_it_has_no_frames(camera.own());
  if (!camera.is_mosaic() && !camera.uses_worker()) return "it is passed on as it comes: no worker has work with it";
  if (std::string why = never_moved(camera); !why.empty())
    return is_staged(camera) ? why + "; change its `placement` and reload, which starts it anew" : why;
  const CameraNode& node = camera.nodes.front();
  if (node.worker == worker.number) return fmt::format("it is on worker {} already", worker.number);
  if (is_gone(rig.machine.devices, worker.place.gpu)) return fmt::format("the GPU of worker {} is gone", worker.number);
  if (node.done || camera.source.over) return why_it_ends(rig, camera);
  if (camera.shed == ShedStep::off)
    return "nothing of it is decoded just now, since cameras of higher priority need the time (`priority`)";
  if (camera.is_mosaic()) {
    if (rig.page.node(node.id, node.process()).clock.first == 0) return "its clock has not begun yet";
  } else {
    const auto& ring = camera.frames().newest;
    const bool comes = ring && ring->observer.writer_state() == WriterState::open;
    if (!comes) return "no frames come to its worker just now";
    if (!reads_newest_ring(camera))
      return "its worker is about to begin with its frames, after a start or a change of their size; try again in a "
             "second";
  }
  // A camera's frames can come through host memory; what others' nodes make for a mosaic stays where it is.
  return camera.is_mosaic() ? why_unreadable(rig, camera, worker) : "";
}

}  // namespace campipe
