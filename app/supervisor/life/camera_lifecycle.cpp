#include "app/supervisor/life/camera_lifecycle.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "app/control/messages/cameras.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/to_publisher.h"
#include "app/control/messages/to_source.h"
#include "app/supervisor/rig/accounting.h"
#include "app/supervisor/rig/remote_parts.h"
#include "core/log.h"
#include "ipc/counter_table.h"

namespace campipe {
namespace {

// Of packets that are passed on as they come, only of the source.
std::optional<std::string> why_waiting(const Camera& camera, const Output& output) {
  if (camera.source.away || output.is_copy()) return camera.source.away;
  return camera.decoding.failing ? camera.decoding.failing : camera.stalled;
}

// It runs, or waits: as the camera knows it by now.
void show_state(const Camera& camera, Output& output) {
  const auto why = why_waiting(camera, output);
  output.become(why ? CameraState::waiting : CameraState::running);
  if (!output.recording.failed) output.reason = why.value_or("");
}

// That its source delivers, or its frames are decoded, or not. Who reports that has logged it.
void show_state(Camera& camera, bool has_begun) {
  for (Output& output : camera.outputs) {
    const bool can_change = output.state == CameraState::running || output.state == CameraState::waiting ||
                            (output.state == CameraState::starting && has_begun);
    if (can_change) show_state(camera, output);
  }
}

std::optional<std::string> why_not(bool works, const std::string& reason) {
  return works ? std::nullopt : std::optional(reason);
}

}  // namespace

void CameraLifecycle::fail(Output& output, const std::string& reason) {
  if (output.state == CameraState::failed) return;
  output.become(CameraState::failed);
  output.reason = reason;
  spdlog::error("{}: {}", output.config.name, reason);
}

void CameraLifecycle::fail(Camera& camera, const std::string& reason) {
  fail(camera.own(), reason);
  fail_others(camera, camera.own().reason);
}

void CameraLifecycle::fail_others(Camera& camera, const std::string& reason) {
  for (Output& output : camera.outputs) {
    if (output.state == CameraState::failed) continue;
    output.become(CameraState::failed);
    output.reason = reason;
  }
}

void CameraLifecycle::leave_out(Camera& camera, const std::string& why) {
  fail(camera, why);
  camera.source.over = camera.decoding.over = true;
  for (CameraNode& node : camera.nodes) node.done = true;
  for (Output& output : camera.outputs) {
    output.packets_over = true;
    output.publisher.done = true;
  }
}

void CameraLifecycle::begin(const Camera& camera, Output& output) {
  if (output.state == CameraState::starting) show_state(camera, output);
}

void CameraLifecycle::begin_on_demand(Camera& camera) {
  for (Output& output : camera.outputs) {
    if (output.config.on_demand) begin(camera, output);
  }
}

void CameraLifecycle::on_decoding_state(Camera& camera, bool decodes, const std::string& reason) {
  camera.decoding.failing = why_not(decodes, reason);
  show_state(camera, false);
}

void CameraLifecycle::on_source_state(Camera& camera, bool delivers, const std::string& reason) {
  const bool came_before = camera.frames().published() + camera.own().packets_published() > 0;
  if (delivers && camera.source.away && came_before) ++camera.counted[Counter::reconnects];
  camera.source.away = why_not(delivers, reason);
  show_state(camera, true);
}

void CameraLifecycle::stop(Camera& camera) {
  if (camera.is_mosaic()) return on_source_over(camera, "");
  processes_.send_to_master(camera, messages::StopCamera{{camera.id}});
  if (!processes_.source().child) return on_source_over(camera, "");
  processes_.send(processes_.source(), messages::StopCamera{{camera.id}});
}

// What is passed on as it came ends here; the rest when the master and then its nodes have handled it.
void CameraLifecycle::on_source_over(Camera& camera, const std::string& failure) {
  if (camera.source.over) return;
  camera.source.over = true;
  if (!failure.empty()) fail(camera, failure);
  for (Output& output : camera.outputs) {
    if (output.is_copy()) end_packets(camera, output);
  }
  if (camera.is_mosaic()) {
    for (const CameraNode& node : camera.nodes) processes_.send_to_node(camera, node, messages::FinishNode());
    return on_decoding_over(camera, "");
  }
  // Of one that nobody decodes, or nothing has come that could be.
  const bool nothing_left = !camera.is_decoded() || (camera.decoding.gone && camera.source.packets.unread.empty());
  if (nothing_left) return on_decoding_over(camera, "");
  processes_.send_to_master(camera, messages::SourceRingsOver{{camera.id}});
}

void CameraLifecycle::on_decoding_over(Camera& camera, const std::string& failure) {
  if (std::exchange(camera.decoding.over, true)) return;
  camera.source.packets.unread.clear();
  if (!failure.empty()) {
    fail(camera, failure);
    // Its thread may wait for packets that did not reach it.
    processes_.send(processes_.master_of(camera), messages::StopCamera{{camera.id}});
    processes_.send(processes_.master_of(camera), messages::SourceRingsOver{{camera.id}});
    if (!camera.source.over) stop(camera);
  }
  if (!camera.is_mosaic()) end_edge(camera, camera.frames());
}

void CameraLifecycle::on_decoding_left(Camera& camera) {
  camera.decoding.gone = true;
  if (std::exchange(camera.decoding.failing, std::nullopt)) show_state(camera, false);
  camera.frames().keep_newest();
}

void CameraLifecycle::end_encoded(Camera& camera) {
  for (Output& output : camera.outputs) {
    if (!output.is_copy()) end_packets(camera, output);
  }
}

void CameraLifecycle::give_up_decoding(Camera& camera, const std::string& reason) {
  camera.decoding.given_up = true;
  messages::EndDecoding message{camera.id, {}};
  for (Output& output : camera.outputs) {
    if (output.is_plain_copy()) {
      message.outputs.push_back(output.id);
      continue;
    }
    fail(output, reason);
    if (output.is_copy()) end_packets(camera, output);
  }
  for (CameraEdge& edge : camera.edges) {
    if (edge.cell && !edge.failed) on_edge_failed(camera, edge, reason);
  }
  processes_.send_for(processes_.source(), camera, message);
  on_decoding_over(camera, "");
}

void CameraLifecycle::stop_mosaics() {
  for (Camera& camera : rig_.cameras.all()) {
    if (camera.is_mosaic() && camera.takes_part()) stop(camera);
  }
}

// A mosaic goes on without it.
void CameraLifecycle::end_edge(const Camera& camera, const CameraEdge& edge) {
  if (edge.cell) return;
  for (const EdgeReader& reader : edge.readers)
    processes_.send_to_node(camera, camera.node(reader.node), messages::EdgeOver{{reader.node, edge.id}});
}

void CameraLifecycle::on_node_done(Camera& camera, CameraNode& node) {
  if (node.done) return;
  node.done = true;
  for (const CameraEdge& edge : camera.edges) {
    if (edge.writer == node.id) end_edge(camera, edge);
  }
  for (Output& output : camera.outputs) {
    const bool is_its = !output.is_copy() && output.node == node.id;
    if (is_its && !camera.relocation) end_packets(camera, output);  // else another node goes on
    if (output.config.group && output.node == node.id) rig_.groups.leave(camera.id);
  }
}

void CameraLifecycle::on_edge_failed(Camera& camera, CameraEdge& edge, const std::string& reason) {
  edge.failed = true;
  if (edge.cell) {
    edge.reason = reason;
    return spdlog::error("{}: cannot be shown in a mosaic: {}", camera.name(), reason);
  }
  for (Output& output : camera.outputs) {
    if (!output.is_copy() && camera.needs(output, edge)) fail(output, reason);
  }
}

void CameraLifecycle::end_packets(Camera& camera, Output& output) {
  output.packets_over = true;
  processes_.send_to_publisher(camera, output, messages::OutputOver());
}

void CameraLifecycle::on_publisher_done(Output& output) {
  output.publisher.done = true;
  rig_.next_tick = Clock::now();  // it may have been the last
  const bool kept = output.state == CameraState::failed || output.state == CameraState::waiting;
  if (!kept) output.become(CameraState::ended);
}

void CameraLifecycle::on_source_death() {
  for (Camera& camera : rig_.cameras.all()) {
    camera.source.gone = true;
    if (camera.source.packets.newest) camera.source.packets.newest->mark_writer_gone();
    for (Output& output : camera.outputs) {
      if (output.is_copy() && output.packets.newest) output.packets.newest->mark_writer_gone();
      if (output.audio.newest) output.audio.newest->mark_writer_gone();
    }
    if (camera.retiring || camera.all_failed()) on_source_over(camera, "");
  }
}

// Its sources go on; the next master decodes again what this one had not handed over.
void CameraLifecycle::on_master_death(ProcessId master) {
  for (Camera& camera : rig_.cameras.all()) {
    if (camera.decoding.process != master) continue;
    camera.decoding.gone = true;
    if (std::exchange(camera.decoding.failing, std::nullopt)) show_state(camera, false);
    if (camera.is_mosaic() || !camera.frames().newest) continue;
    camera.frames().newest->observer.mark_writer_gone();
    camera.frames().keep_newest();
  }
}

void CameraLifecycle::on_worker_death(ProcessId worker) {
  for (Camera& camera : rig_.cameras.all()) {
    if (!camera.takes_part()) continue;
    bool had_work = false;
    for (CameraNode& node : camera.nodes) {
      if (node.process() != worker || node.done) continue;
      had_work = true;
      on_node_death(camera, node);
    }
    if (had_work && rig_.phase != RunPhase::leaving) ++camera.counted[Counter::worker_restarts];
  }
}

void CameraLifecycle::on_node_death(Camera& camera, CameraNode& node) {
  for (Output& output : camera.outputs) {
    if (!output.is_copy() && output.node == node.id && output.packets.newest) output.packets.newest->mark_writer_gone();
    if (output.config.group && output.node == node.id) rig_.groups.leave(camera.id);
  }
  for (const CameraEdge& edge : camera.edges) {
    if (edge.writer == node.id && edge.newest) {
      FrameRingObserver observer = edge.newest->observer;
      observer.mark_writer_gone();
    }
  }
  forget_ending_edges(camera, node);
  if (camera.is_mosaic()) on_mosaic_death(camera, node);
  for (CameraEdge* input : camera.edges_to(node)) on_reader_death(*input, node.id);
  if (rig_.phase == RunPhase::leaving || camera.all_encoded_failed()) on_node_done(camera, node);
}

// Its writer is gone, so that nobody answers.
void CameraLifecycle::forget_ending_edges(Camera& camera, const CameraNode& writer) {
  for (CameraEdge& edge : camera.edges) {
    if (edge.ending && edge.writer == writer.id) edge.ended = true;
  }
}

// Its clock goes on; those ticks that have come are encoded, or died with it.
void CameraLifecycle::on_mosaic_death(const Camera& mosaic, const CameraNode& node) {
  settle_lost(mosaic, node, rig_.page);
  for_each_cell(rig_.cameras, mosaic.id, [&](const Camera&, CameraEdge& edge) {
    if (edge.is_read_by(node.id)) on_reader_death(edge, node.id);
  });
}

void CameraLifecycle::on_reader_death(CameraEdge& input, NodeId node) {
  EdgeReader& reader = input.reader(node);
  if (input.newest && reader.seat) input.newest->observer.mark_reader_gone(*reader.seat);
  reader.unsettled = true;
}

// Not for a node that is only to take over.
bool CameraLifecycle::is_needed(const ManagedProcess& process, const Camera& camera) {
  if (!has_work(process, camera)) return false;
  if (process.kind != ProcessKind::worker && process.kind != ProcessKind::link) return true;
  return std::ranges::any_of(camera.planned_nodes(),
                             [&](const CameraNode* node) { return node->process() == process.id && !node->done; });
}

void CameraLifecycle::follow_restarts() {
  std::vector<const ManagedProcess*> away;
  for (const ManagedProcess& process : processes_.all()) {
    const bool between =
        process.kind == ProcessKind::master || process.kind == ProcessKind::worker || process.kind == ProcessKind::link;
    if (between && !process.child && process.start_at) away.push_back(&process);
  }
  for (Camera& camera : rig_.cameras.all()) {
    const auto process = std::ranges::find_if(away, [&](const auto* one) { return is_needed(*one, camera); });
    std::optional<std::string> stalled;
    if (process != away.end()) {
      stalled = "waits until " + role_of(**process) + " is restarted";
    } else {
      stalled = waits_for_node(camera, rig_.page);
    }
    if (stalled == camera.stalled) continue;
    camera.stalled = std::move(stalled);
    show_state(camera, false);
  }
}

void CameraLifecycle::give_up_sources() {
  for (Camera& camera : rig_.cameras.all()) on_source_over(camera, "");
}

}  // namespace campipe
