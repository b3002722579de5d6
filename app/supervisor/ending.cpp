// The end of a run: sources stop, what has been decoded goes all the way, files are closed, processes leave.
#include <algorithm>
#include <utility>

#include "app/config/camera_config.h"
#include "app/config/rig_settings.h"
#include "app/config/serves.h"
#include "app/control/messages/cluster.h"
#include "app/control/messages/run.h"
#include "app/control/messages/to_publisher.h"
#include "app/supervisor/rig/accounting.h"
#include "app/supervisor/supervisor.h"
#include "core/log.h"
#include "ipc/drop_causes.h"
#include "stages/sources/source_end.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto close_files_after = milliseconds(4000);  // of draining: users are promised whole files within 5 s
constexpr auto kill_after = milliseconds(4700);
constexpr auto leave_deadline = seconds(2);
constexpr int refused_status = 2;
constexpr auto first_frame = seconds(5);  // a camera may take to it

bool is_over(const Camera& camera) {
  if (!camera.takes_part()) return true;
  return !camera.retiring &&
         std::ranges::all_of(camera.outputs, [](const Output& output) { return output.publisher.done; });
}

}  // namespace

void Supervisor::watch_ending() {
  const auto now = Clock::now();
  const auto& duration = rig_.options.duration;
  if (rig_.phase == RunPhase::running && duration && now - rig_.started >= *duration) drain("duration");
  const bool draining = rig_.phase == RunPhase::draining;
  if (draining && !rig_.files_closed && now - *ending_.drain_began > close_files_after) {
    rig_.files_closed = true;
    spdlog::warn("not everything was handed over in time: files are closed as they are");
    processes_.send(processes_.publisher(), messages::CloseFiles());
  }
  if (draining && now - *ending_.drain_began > kill_after) {
    spdlog::error("not everything could be handed over in time: what is left is given up");
    ending_.gave_up = true;
    return kill_all();
  }
  if (rig_.phase == RunPhase::leaving) return end_leaving();
  if (!everything_is_over()) return ending_.over_since.reset();
  lifecycle_.stop_mosaics();  // they have nothing to show
  if (!mosaics_are_over()) return ending_.over_since.reset();
  if (!ending_.over_since) ending_.over_since = now;
  if (accounts_.sampled_at_the_end(*ending_.over_since)) begin_leaving();
}

// From here on no source delivers; what has been decoded still goes all the way.
void Supervisor::drain(const std::string& why) {
  rig_.phase = RunPhase::draining;
  ending_.why = why;
  ending_.drain_began = Clock::now();
  tell_it_ends();
  spdlog::info("ending ({}): handing over what has been decoded", why);
  processes_.send_to_all(ProcessKind::master, messages::Drain());
  if (processes_.source().child) {
    processes_.send(processes_.source(), messages::Drain());
    lifecycle_.stop_mosaics();
  } else {
    lifecycle_.give_up_sources();
  }
  processes_.start_by(Clock::now());
}

// Viewers at once: the end may be over before the next status is due.
void Supervisor::tell_it_ends() {
  service_.stopping();
  rig_.next_status = Clock::now();
}

// Of the cameras with a source: mosaics end with the last of them.
// A rig without any camera that takes part waits for one, as long as a user can add one. So does one with a camera that
// would never end, and failed or is disabled: a user can enable it again.
bool Supervisor::everything_is_over() const {
  const auto cameras = rig_.cameras.all();
  if (rig_.phase == RunPhase::running && cluster_.is_on()) return false;  // it may be given others
  if (rig_.phase == RunPhase::running && serves(rig_.settings())) {
    const bool any = std::ranges::any_of(cameras, [](const Camera& camera) { return camera.takes_part(); });
    const bool one_may_come_back = std::ranges::any_of(cameras, [](const Camera& camera) {
      const CameraState state = camera.own().state;
      const bool rests = state == CameraState::failed || state == CameraState::disabled;
      return rests && !camera.is_removed() && !camera.is_mosaic() && !can_end(camera.config->source);
    });
    if (!any || one_may_come_back) return false;
  }
  return std::ranges::all_of(cameras, [](const Camera& camera) { return camera.is_mosaic() || is_over(camera); });
}

bool Supervisor::mosaics_are_over() const { return std::ranges::all_of(rig_.cameras.all(), is_over); }

// Every file is closed. Workers and publisher meet at the stop barrier and leave; source and masters are asked to.
void Supervisor::begin_leaving() {
  if (ending_.why.empty()) ending_.why = "ended";
  tell_it_ends();
  rig_.phase = RunPhase::leaving;
  ending_.leave_began = Clock::now();
  for (ManagedProcess& process : processes_.all()) {
    if (meets_at_barrier(process)) processes_.send(process, messages::RigOver());
  }
}

void Supervisor::end_leaving() {
  const auto since = Clock::now() - *ending_.leave_began;
  const Barrier barrier = rig_.page.barrier();
  if (barrier.over(1) || since > leave_deadline / 2) {
    processes_.send(processes_.source(), messages::Leave());
    processes_.send_to_all(ProcessKind::master, messages::Leave());
    processes_.send_to_all(ProcessKind::link, messages::Leave());
  }
  leave_cluster();
  if (since > leave_deadline && !ending_.logged_late) {
    ending_.logged_late = true;
    spdlog::warn("some processes did not leave in time (missing at the barrier: {:#x})", barrier.wait(1, Clock::now()));
    kill_all();
  }
}

// Last: other nodes then take the cameras, whose files are closed here. The deadline begins anew, since this process
// waits for an etcd that does not answer, for up to 1.5 s.
void Supervisor::leave_cluster() {
  const bool others = std::ranges::any_of(processes_.all(), [](const ManagedProcess& process) {
    return process.kind != ProcessKind::cluster && process.child;
  });
  if (!cluster_.is_on() || others || std::exchange(ending_.left_cluster, true)) return;
  processes_.send(processes_.of(ProcessKind::cluster), messages::LeaveCluster());
  ending_.leave_began = Clock::now();
}

// Before anything of it has run; but with `on_etcd_missing: run` it may.
void Supervisor::refuse(const std::string& why) {
  if (rig_.phase != RunPhase::running) return;  // it ends already, as asked
  ending_.refused = true;
  if (!std::ranges::empty(rig_.cameras.all())) {
    spdlog::error("ending: {}", why);
    return drain("refused");
  }
  spdlog::error("not started: {}", why);
  ending_.why = "refused";
  kill_all();
}

void Supervisor::kill_all() {
  rig_.phase = RunPhase::leaving;
  if (!ending_.leave_began) ending_.leave_began = Clock::now();
  processes_.kill_all();
}

// For any other reason, its recording ends before it should.
bool Supervisor::ended_as_asked(const Camera& camera, const Output& output) const {
  return ending_.why == "duration" || ending_.why.starts_with("stopped") ||
         (camera.source.over && output.publisher.done);
}

// When the rig was asked to end, this camera had only just begun, maybe by a change: it cannot have failed.
bool Supervisor::had_just_begun(const Camera& camera, const Output& output) const {
  return ending_.why.starts_with("stopped") && ending_.drain_began && output.reason.empty() &&
         *ending_.drain_began - camera.begun < first_frame;
}

void Supervisor::settle_the_rest() {
  const bool forced = ending_.gave_up || ending_.why == "stopped at once";
  const bool master_died = processes_.restarts(ProcessKind::master) > 0;
  const bool worker_died = processes_.restarts(ProcessKind::worker) > 0 || processes_.restarts(ProcessKind::link) > 0;
  DropCause cause = DropCause::stopped;
  if (!forced && master_died) cause = DropCause::master_lost;
  if (!forced && !master_died && worker_died) cause = DropCause::worker_lost;
  moves_.end_all();
  for (Camera& camera : rig_.cameras.all()) {
    if (!camera.takes_part()) continue;
    settle(camera, rig_.page, cause);
    for (Output& output : camera.outputs) {
      settle_recording(output, rig_.page);
      if (!ended_as_asked(camera, output)) CameraLifecycle::fail(output, "the rig ended before its source did");
      if (output.state == CameraState::running || output.state == CameraState::starting)
        output.become(CameraState::ended);
      const bool asked_for = !output.config.on_demand && !had_just_begun(camera, output);
      if (asked_for && output.packets_published() == 0 && output.state != CameraState::failed) {
        const std::string why = output.state == CameraState::waiting ? ": " + output.reason : "";
        CameraLifecycle::fail(output, "no frame came through" + why);
      }
    }
  }
  guard_.run("relay the log", [this] { log_.pass_on(); });
}

int Supervisor::exit_status() const {
  if (ending_.refused) return refused_status;
  const bool failed = std::ranges::any_of(rig_.cameras.all(), [](const Camera& camera) {
    return std::ranges::any_of(camera.outputs, [](const Output& output) {
      return output.state == CameraState::failed || output.recording.failed || !output.recording.paused.empty();
    });
  });
  return failed || ending_.gave_up ? 3 : 0;
}

}  // namespace campipe
