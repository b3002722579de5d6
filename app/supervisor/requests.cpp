// What the publisher's servers ask of the supervisor, and what it tells them each second.
#include <unistd.h>

#include <algorithm>

#include "app/supervisor/report.h"
#include "app/supervisor/supervisor.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto status_interval = std::chrono::seconds(1);
constexpr auto longest_start = std::chrono::seconds(10);  // then the service is ready with what runs

}  // namespace

// For systemd: ready when every camera has shown what becomes of it.
void Supervisor::tell_service() {
  unsigned cameras = 0;
  unsigned run = 0;
  bool starting = false;
  for (const CameraState& camera : cameras_) {
    if (camera.follows || !takes_part(camera)) continue;
    ++cameras;
    run += camera.state == CameraState::State::running ? 1 : 0;
    starting = starting || camera.state == CameraState::State::starting;
  }
  if (starting && Clock::now() - started_ < longest_start) return;
  service_.ready(std::to_string(run) + " of " + std::to_string(cameras) + " cameras run");
}

void Supervisor::tell_status() {
  next_status_ = Clock::now() + status_interval;
  if (phase_ == Phase::running && !reloading()) tell_service();
  if (!serves(rig_.server) || !publisher().child) return;
  std::vector<ProcessStatus> processes{{"supervisor", ::getpid(), 0, "cpu", 0, own_memory_mib_}};
  for (const Member& member : members_) {
    if (!member.child) continue;
    processes.push_back(
        {role_of(member), member.child->pid(), member.restarts, member.gpu_name, member.cpu_s, member.memory_mib});
  }
  const RigStatus rig{options_.config.filename().string(),
                      std::chrono::duration<double>(Clock::now() - started_).count(),
                      phase_ == Phase::running ? "running" : "draining", processes};
  for (const CameraState& camera : cameras_) {
    if (takes_part(camera)) pass_on(latencies_of(page_, camera), page_.shared(camera.index));
  }
  // One that is slow gets the next one.
  if (!publisher().child->outbox().waiting()) send(publisher(), messages::Status{status_.make(rig, cameras_, page_)});
}

messages::Answer Supervisor::refused(int status, const std::string& why) { return {status, {{"error", why}}}; }

// What a request throws is its answer.
std::optional<messages::Answer> Supervisor::answer_of(const std::function<std::optional<messages::Answer>()>& work) {
  try {
    return work();
  } catch (const Error& error) {
    return refused(409, error.what());
  } catch (const std::exception& error) {
    spdlog::error("a request failed: {}", error.what());
    return refused(500, error.what());
  }
}

// Nobody else knows of it: not SIGHUP, and not the successor of the publisher that asked.
void Supervisor::send_answer(pid_t asker, std::uint64_t request, messages::Answer answer) {
  next_status_ = Clock::now();
  if (!publisher().child || publisher().child->pid() != asker) return;
  answer.request = request;
  send(publisher(), answer);
}

void Supervisor::on_request(const messages::SetRecording& asked) {
  send_answer(publisher().child->pid(), asked.request, *answer_of([&] { return set_recording(asked); }));
}

// Of all its outputs that record.
messages::Answer Supervisor::set_recording(const messages::SetRecording& asked) {
  if (phase_ != Phase::running) return refused(409, "the rig is ending");
  CameraState* camera = find_camera(asked.name);
  if (camera == nullptr) return refused(404, "there is no such camera");
  bool any = false;
  bool lives = false;
  for (const unsigned output : camera->outputs) {
    CameraState& state = cameras_[output];
    if (!state.config.record) continue;
    any = true;
    if (!has_camera(publisher(), state)) continue;
    lives = true;
    state.recording_on = asked.on;
    if (!asked.on) state.recording_paused.clear();
    send_for(publisher(), state, messages::Record{state.index, asked.on});
  }
  if (!any) return refused(409, "its configuration has no 'record'");
  if (!lives) return refused(409, camera->state == CameraState::State::disabled ? "it is disabled" : "it has ended");
  return {200, {{"recording", asked.on}}};
}

}  // namespace campipe
