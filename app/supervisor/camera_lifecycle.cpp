#include "app/supervisor/camera_lifecycle.h"

#include "core/log.h"

namespace campipe {

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
  camera.source.over = true;
  camera.worker.done = true;
  for (Output& output : camera.outputs) {
    output.packets_over = true;
    output.publisher.done = true;
  }
}

void CameraLifecycle::begin(Output& output) {
  if (output.state == CameraState::starting) output.become(CameraState::running);
}

void CameraLifecycle::begin_on_demand(Camera& camera) {
  for (Output& output : camera.outputs) {
    if (output.config.on_demand) begin(output);
  }
}

// The master has logged it.
void CameraLifecycle::on_source_state(Camera& camera, bool delivers, const std::string& reason) {
  const bool came_before = camera.frames.published() + camera.own().packets_published() > 0;
  if (delivers && camera.own().state == CameraState::waiting && came_before) ++camera.counted[Counter::reconnects];
  for (Output& output : camera.outputs) {
    const bool can_change = output.state == CameraState::running || output.state == CameraState::waiting ||
                            output.state == CameraState::starting;
    if (!can_change) continue;
    output.become(delivers ? CameraState::running : CameraState::waiting);
    if (!output.recording.failed) output.reason = reason;
  }
}

void CameraLifecycle::stop(const Camera& camera) {
  processes_.send(processes_.master(), messages::StopCamera{{camera.id}});
}

// What is passed on as it came ends here; the rest when the worker has encoded it.
void CameraLifecycle::on_source_over(Camera& camera, const std::string& failure) {
  if (camera.source.over) return;
  camera.source.over = true;
  if (!failure.empty()) fail(camera, failure);
  for (Output& output : camera.outputs) {
    if (output.is_copy()) end_packets(camera, output);
  }
  processes_.send_for(processes_.worker(camera.worker.number), camera, messages::CameraOver());
}

void CameraLifecycle::on_worker_done(Camera& camera) {
  if (camera.worker.done) return;
  camera.worker.done = true;
  for (Output& output : camera.outputs) {
    if (!output.is_copy()) end_packets(camera, output);
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

void CameraLifecycle::on_master_death() {
  for (Camera& camera : rig_.cameras.all()) {
    camera.source.gone = true;
    if (camera.retiring) on_source_over(camera, "");
    for (Output& output : camera.outputs) {
      if (output.is_copy() && output.packets.newest) output.packets.newest->mark_writer_gone();
      if (output.audio.newest) output.audio.newest->mark_writer_gone();
    }
    if (!camera.frames.newest) continue;
    FrameRingObserver& observer = camera.frames.newest->observer;
    observer.mark_writer_gone();
    if (const auto pts = observer.last_pts()) camera.frames.last_pts = pts;
  }
}

void CameraLifecycle::on_worker_death(unsigned worker) {
  for (Camera& camera : rig_.cameras.all()) {
    if (camera.worker.number != worker || camera.worker.done || !camera.takes_part()) continue;
    if (rig_.phase != RunPhase::leaving) ++camera.counted[Counter::worker_restarts];
    for (Output& output : camera.outputs) {
      if (!output.is_copy() && output.packets.newest) output.packets.newest->mark_writer_gone();
    }
    CameraFrames& frames = camera.frames;
    if (frames.newest && frames.newest->reader) frames.newest->observer.mark_reader_gone(*frames.newest->reader);
    frames.unsettled = true;
    if (rig_.phase == RunPhase::leaving || camera.all_encoded_failed()) on_worker_done(camera);
  }
}

void CameraLifecycle::give_up_sources() {
  for (Camera& camera : rig_.cameras.all()) on_source_over(camera, "");
}

}  // namespace campipe
