// What became of the supervisor's processes: whether one hangs, which camera is to blame for it or for a death, and
// what that camera then has to go without.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "app/supervisor/supervisor.h"
#include "core/log.h"

namespace campipe {
namespace {

using std::chrono::seconds;

constexpr auto start_silence = seconds(15);          // until the first beat
constexpr std::uint32_t hang = 0;                    // as the fault of a thread that did not beat
constexpr std::int64_t most_waited = INT64_MAX / 2;  // of what a process says that a thread did

// A first use of a GPU takes seconds where no driver daemon keeps it awake, and it comes before the first beat.
constexpr auto start_silence_per_gpu = seconds(5);

// What is left in its packet rings must not bring down the next publisher as well: it is given back unrecorded. False:
// there is none, or none any more.
bool give_up_recording(CameraState& camera, RecordState& record) {
  if (!camera.config.record || camera.record_failed) return false;
  record.failed = 1;
  camera.record_failed = true;
  camera.reason = "recording stopped: it brought down the publisher three times within a minute";
  spdlog::error("{}: {}", camera.config.name, camera.reason);
  return true;
}

}  // namespace

bool Supervisor::hung(Member& member) {
  if (member.child->killed()) return false;
  const auto main_thread = member.child->look_at_main_thread();
  const auto now = Clock::now();
  if (now < distrust_beats_until_) return false;
  const std::int64_t beat = page_.process(member.process).beat.load();
  const auto silence = start_silence + start_silence_per_gpu * member.sees.size();
  if (beat == 0) return now - member.child->started() > silence + std::chrono::nanoseconds(main_thread.waited);
  const ThreadWatch::Signs signs{.beat = beat, .cpu_time = main_thread.used, .cpu_waited = main_thread.waited};
  if (member.watch.hung(signs, to_ns(now))) {
    spdlog::warn("{} does not answer; it is killed", role_of(member));
    return true;
  }
  return has_hung_thread(member, main_thread.waited);
}

// A process's main thread tells how long the others waited, unless it waits itself.
bool Supervisor::has_hung_thread(const Member& member, std::int64_t main_thread_waited) {
  for (CameraState& camera : cameras_) {
    if (!has_camera(member, camera)) continue;
    ThreadBlock& thread = thread_of(member, camera.index);
    // The end of a wait is seen with the heartbeat that goes before it.
    const std::int64_t wait_until = thread.wait_until.load(std::memory_order_acquire);
    const std::int64_t waited = std::clamp<std::int64_t>(thread.cpu_waited.load(), 0, most_waited) + main_thread_waited;
    const ThreadWatch::Signs signs{thread.beat.load(), wait_until, thread.cpu_time.load(), waited};
    const auto silence = camera.watches.at(static_cast<std::size_t>(member.kind)).hung(signs, now_ns());
    if (!silence) continue;
    thread.beat = 0;
    const WaitsFor what = thread.waits_for.load();
    blame(member, camera,
          fmt::format("its thread in {} did not answer for {} s{}", role_of(member),
                      std::chrono::duration_cast<seconds>(*silence).count(),
                      what == WaitsFor::nothing ? "" : fmt::format(" (in its {})", name_of(what))),
          *silence);
    if (what == WaitsFor::disk) blame_who_waits_too(member, camera);
    return true;
  }
  return false;
}

// Cameras that record on one disk wait for it together. Each of them alone could have the process killed three times.
void Supervisor::blame_who_waits_too(const Member& member, const CameraState& first) {
  const std::int64_t now = now_ns();
  for (CameraState& camera : cameras_) {
    if (camera.index == first.index || !has_camera(member, camera)) continue;
    ThreadBlock& thread = thread_of(member, camera.index);
    const std::int64_t beat = thread.beat.load();
    const bool waits = beat > 0 && beat < now && thread.waits_for.load() == WaitsFor::disk;
    if (!waits || now - beat < thread_hangs.idle.count()) continue;
    thread.beat = 0;
    blame(member, camera, fmt::format("its thread in {} waits for its disk, too", role_of(member)),
          std::chrono::nanoseconds(now - beat));
  }
}

// The threads of a dead process: did one of a camera's fault?
bool Supervisor::find_guilty(const Member& member) {
  bool found = false;
  for (CameraState& camera : cameras_) {
    if (!has_camera(member, camera)) continue;
    ThreadBlock& thread = thread_of(member, camera.index);
    thread.beat = 0;
    const std::uint32_t fault = thread.fault.exchange(0);
    if (fault == hang) continue;
    found = true;
    blame(member, camera, fmt::format("crashed its process (signal {})", fault));
  }
  return found;
}

// A crash on a thread of no camera, for the third time within a minute: whom to quarantine is not known, so the process
// waits before it starts again, longer each time, rather than drag its cameras through one crash after another.
bool Supervisor::crashed_unexplained(Member& member, const ExitInfo& info, bool explained) {
  if (explained || !crashed(info)) return false;
  spdlog::error("{} crashed on a thread that works for no camera; please report it with a core dump", role_of(member));
  return member.unexplained.on_fault(Clock::now());
}

// What was decoded just then was so for viewers alone: that goes first, and what is copied stays.
bool Supervisor::give_up_viewers(const CameraState& camera) {
  const bool decodes = camera.frames && camera.frames->observer.writer_state() == WriterState::open;
  if (!decodes || encoded_outputs(camera.config) > 0) return false;
  bool any = false;
  for (const unsigned output : camera.outputs) {
    CameraState& state = cameras_[output];
    if (!state.config.on_demand || state.state == CameraState::State::failed) continue;
    fail(state, "set aside: its decoder brought down the master three times within a minute");
    any = true;
  }
  return any;
}

void Supervisor::blame(const Member& member, CameraState& camera, const std::string& what, Clock::duration unnoticed) {
  spdlog::error("{}: {}", camera.config.name, what);
  if (!camera.blame.on_fault(Clock::now(), unnoticed)) return;
  // In the publisher its recording goes first. Should that not help, an output goes alone, and then its camera.
  if (member.kind == Kind::publisher && give_up_recording(camera, page_.publisher(camera.index).record)) return;
  if (member.kind == Kind::master && give_up_viewers(camera)) return;
  const bool alone = member.kind == Kind::publisher && camera.follows && camera.state != CameraState::State::failed;
  fail(camera, "set aside: it brought down its process three times within a minute");
  if (member.kind == Kind::publisher) leave_unread(camera);
  CameraState& source = cameras_[source_of(camera)];
  if (alone && !all_failed(source, false)) return;
  fail_all(source, "set aside with " + camera.config.name);
  on_source_over(source, "");
  if (master().child) send(master(), messages::StopCamera{{source.index}});
}

// What lies in its rings would bring down one publisher after the other: none is given them any more. The packets are
// counted as unrecorded in the end.
void Supervisor::leave_unread(CameraState& camera) {
  camera.packets.clear();
  camera.audio.clear();
  camera.unread = true;
  camera.packets_over = true;
  camera.publisher_done = true;
  camera.recording_paused.clear();
}

}  // namespace campipe
