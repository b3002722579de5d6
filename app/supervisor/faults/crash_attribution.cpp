#include "app/supervisor/faults/crash_attribution.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/config/camera_config.h"
#include "app/placement/quarantine.h"
#include "app/supervisor/faults/camera_threads.h"
#include "core/log.h"
#include "ipc/publish_block.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto start_silence = seconds(15);          // until the first heartbeat
constexpr auto well_within = milliseconds(150);      // of its last heartbeat: a process beats every 100 ms
constexpr auto thread_interval = milliseconds(200);  // between two looks at cameras' threads, which have seconds
constexpr std::uint32_t hang = 0;                    // as the fault of a thread that did not beat
constexpr auto soon = seconds(60);                   // what crashes again so soon does so for the same packet

// A first use of a GPU takes seconds where no driver daemon keeps it awake, and it comes before the first heartbeat.
constexpr auto start_silence_per_gpu = seconds(5);

// What is left in its packet rings must not bring down the next publisher as well: it is given back unrecorded. False:
// there is none, or none any more.
bool give_up_recording(Output& output, RecordState& record) {
  if (!output.config.record || output.recording.failed) return false;
  record.failed = 1;
  output.recording.failed = true;
  output.reason = "recording stopped: it brought down the publisher three times within a minute";
  spdlog::error("{}: {}", output.config.name, output.reason);
  return true;
}

// What lies in its rings would bring down one publisher after the other: none is given them any more. The packets are
// counted as unrecorded in the end.
void leave_unread(Output& output) {
  output.packets.unread.clear();
  output.audio.unread.clear();
  output.publisher.unread = true;
  output.packets_over = true;
  output.publisher.done = true;
  output.recording.paused.clear();
}

// Its next master is one of its own. Soon again: that does not decode again what it crashed at.
void note_crash(Camera& camera, Clock::time_point now) {
  SourceDecoding& decoding = camera.decoding;
  if (!decoding.quarantine) decoding.isolate = may_be_quarantined(*camera.config);
  decoding.skips = decoding.crashed && now - *decoding.crashed < soon;
  decoding.crashed = now;
}

}  // namespace

template <typename Look>
bool CrashAttribution::any_thread(const ManagedProcess& process, const Look& look) {
  for (Camera& camera : rig_.cameras.all()) {
    for (CameraThread& thread : threads_of(process, camera, rig_.page)) {
      if (look(camera, thread)) return true;
    }
  }
  return false;
}

void CrashAttribution::find_hung() {
  const auto now = Clock::now();
  const bool threads_too = now >= next_threads_;
  if (threads_too) next_threads_ = now + thread_interval;
  for (ManagedProcess& process : processes_.all()) {
    if (!process.child || !hung(process, threads_too)) continue;
    process.hung = true;
    process.child->kill();
  }
}

bool CrashAttribution::hung(ManagedProcess& process, bool threads_too) {
  if (process.child->killed()) return false;
  const std::int64_t beat = rig_.page.process(process.id).beat.load();
  const auto now = Clock::now();
  const bool beats = beat > to_ns(now - well_within) && beat <= to_ns(now);
  // Only of one that does not: reading /proc for each process in each tick costs more than the rest of the tick.
  if (!beats) process.main_thread = process.child->look_at_main_thread();
  if (now < ignore_heartbeats_until_) return false;
  if (beats) return threads_too && has_hung_thread(process);
  const auto& main_thread = process.main_thread;
  const auto silence = start_silence + start_silence_per_gpu * process.place.sees.size();
  if (beat == 0) return now - process.child->started() > silence + std::chrono::nanoseconds(main_thread.waited);
  const ThreadWatch::Signs signs{.beat = beat, .cpu_time = main_thread.used, .cpu_waited = main_thread.waited};
  if (const auto silent = process.watch.hung(signs, to_ns(now))) {
    // What its main thread waits for may be another one's, which has no CPU just now.
    if (*silent < process_hangs.busy && process.child->any_thread_runs()) return false;
    spdlog::warn("{} does not answer; it is killed", role_of(process));
    return true;
  }
  return threads_too && has_hung_thread(process);
}

// A process's main thread reports how long the others waited, unless it waits itself.
bool CrashAttribution::has_hung_thread(const ManagedProcess& process) {
  return any_thread(process, [&](Camera& camera, CameraThread& thread) {
    const auto silence = thread.hung(process.main_thread.waited, now_ns());
    if (!silence) return false;
    thread.block.beat = 0;
    const WaitsFor what = thread.block.waits_for.load();
    record(process, camera, thread.output,
           fmt::format("its thread in {} did not answer for {} s{}", role_of(process),
                       std::chrono::duration_cast<seconds>(*silence).count(),
                       what == WaitsFor::nothing ? "" : fmt::format(" (in its {})", name_of(what))),
           *silence);
    if (what == WaitsFor::disk) record_who_waits_too(process, thread.block);
    return true;
  });
}

// Cameras that record on one disk wait for it together. Each of them alone could have the process killed three times.
void CrashAttribution::record_who_waits_too(const ManagedProcess& process, const ThreadBlock& first) {
  const std::int64_t now = now_ns();
  any_thread(process, [&](Camera& camera, CameraThread& thread) {
    if (&thread.block == &first) return false;
    const std::int64_t beat = thread.block.beat.load();
    const bool waits = beat > 0 && beat < now && thread.block.waits_for.load() == WaitsFor::disk;
    if (!waits || now - beat < thread_hangs.idle.count()) return false;
    thread.block.beat = 0;
    record(process, camera, thread.output, fmt::format("its thread in {} waits for its disk, too", role_of(process)),
           std::chrono::nanoseconds(now - beat));
    return false;
  });
}

// A crash on a thread of no camera, for the third time within a minute: whom to quarantine is not known, so the process
// waits before it starts again, longer each time, rather than drag its cameras through one crash after another.
bool CrashAttribution::on_death(ManagedProcess& process, const ExitInfo& info) {
  bool explained = false;
  any_thread(process, [&](Camera& camera, CameraThread& thread) {
    thread.block.beat = 0;
    const std::uint32_t fault = thread.block.fault.exchange(0);
    if (fault == hang) return false;
    explained = true;
    record(process, camera, thread.output, fmt::format("crashed its process (signal {})", fault));
    return false;
  });
  if (explained || !crashed(info)) return false;
  spdlog::error("{} crashed on a thread that works for no camera; please report it with a core dump", role_of(process));
  return process.unexplained.on_fault(Clock::now());
}

// What was decoded just then was so for viewers alone: that goes first, and what is copied stays.
bool CrashAttribution::give_up_viewers(Camera& camera) {
  if (camera.is_mosaic()) return false;
  const auto& ring = camera.frames().newest;
  const bool decodes = ring && ring->observer.writer_state() == WriterState::open;
  if (!decodes || encoded_outputs(*camera.config) > 0) return false;
  bool any = false;
  for (Output& output : camera.outputs) {
    if (!output.config.on_demand || output.state == CameraState::failed) continue;
    CameraLifecycle::fail(output, "quarantined: its decoder brought down the master three times within a minute");
    any = true;
  }
  for (CameraEdge& edge : camera.edges) {
    if (!edge.cell || edge.failed) continue;
    lifecycle_.on_edge_failed(camera, edge, "its decoder brought down the master three times within a minute");
    any = true;
  }
  return any;
}

// What is passed on as it comes needs no decoder.
bool CrashAttribution::give_up_decoding(Camera& camera) {
  const bool any_goes_on = std::ranges::any_of(camera.outputs, [](const Output& output) {
    return output.is_plain_copy() && output.state != CameraState::failed;
  });
  if (!any_goes_on || camera.retiring || camera.source.over) return false;
  lifecycle_.give_up_decoding(camera, "quarantined: its decoder brought down the master three times within a minute");
  return true;
}

void CrashAttribution::record(const ManagedProcess& process, Camera& camera, Output& output, const std::string& what,
                              Clock::duration unnoticed) {
  spdlog::error("{}: {}", output.config.name, what);
  const bool publisher = process.kind == ProcessKind::publisher;
  const bool master = process.kind == ProcessKind::master;
  QuarantinePolicy& faults = publisher ? output.publisher.faults : camera.faults;
  const auto now = Clock::now();
  if (master) note_crash(camera, now);
  if (!faults.on_fault(now, unnoticed)) return;
  // In the publisher its recording goes first. Should that not help, an output goes alone, and then its camera.
  if (publisher && give_up_recording(output, rig_.page.publish(output.id).record)) return;
  if (master && (give_up_viewers(camera) || give_up_decoding(camera))) return;
  const bool alone = publisher && !output.is_own() && output.state != CameraState::failed;
  CameraLifecycle::fail(output, "quarantined: it brought down its process three times within a minute");
  if (publisher) leave_unread(output);
  if (alone && !camera.all_failed()) return;
  camera.quarantined = true;
  CameraLifecycle::fail_others(camera, "quarantined with " + output.config.name);
  lifecycle_.on_source_over(camera, "");
  lifecycle_.on_decoding_over(camera, "");  // what is left would bring down the next one
  if (processes_.source().child && !camera.is_mosaic()) lifecycle_.stop(camera);
}

}  // namespace campipe
