// The supervisor's processes: starting, watching, restarting.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "app/control/child_environment.h"
#include "app/supervisor/supervisor.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/gpu.h"
#include "core/log.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The rings of such a camera would take the descriptors that other cameras' need.
constexpr auto no_descriptors = "not started: the rig is out of descriptors (LimitNOFILE, ulimit -n)";

constexpr auto restart_while_draining = milliseconds(100);
constexpr std::size_t most_messages = 64;         // of one process, before the others' turn
constexpr std::size_t most_bytes = 512UL * 1024;  // likewise
constexpr std::size_t most_bytes_of_the_dead = 4UL * 1024 * 1024;

// Of a GPU's worker. One that finds no memory on the GPU ends, and what took it may be gone any moment; the start that
// then succeeds takes a second or two, and within five the camera shall be back.
constexpr auto longest_wait_of_gpus = seconds(2);

// The worker's own GPU first: CUDA then takes it unasked.
std::vector<Device> gpus_of_worker(const WorkerPlan& worker, const std::vector<Placement>& cameras) {
  std::vector<Device> gpus;
  if (!on_gpu(worker.gpu)) return gpus;
  gpus.push_back(worker.gpu);
  for (const unsigned camera : worker.cameras) {
    const Device& gpu = cameras[camera].decode_gpu;
    if (on_gpu(gpu) && std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
  }
  return gpus;
}

std::vector<Device> gpus_of_master(const std::vector<Placement>& cameras) {
  std::vector<Device> gpus;
  for (const Placement& camera : cameras) {
    if (on_gpu(camera.decode_gpu) && std::ranges::find(gpus, camera.decode_gpu) == gpus.end()) {
      gpus.push_back(camera.decode_gpu);
    }
  }
  return gpus;
}

}  // namespace

void Supervisor::set_up(const RigPlan& plan) {
  members_.reserve(2 + max_workers);
  cameras_.reserve(page_.cameras());
  members_.resize(2 + plan.workers.size());
  master().kind = Kind::master;
  master().process = master_process;
  master().sees = gpus_of_master(plan.cameras);
  publisher().kind = Kind::publisher;
  publisher().process = publisher_process;
  for (unsigned w = 0; w < plan.workers.size(); ++w) {
    set_up_member(worker(w), w, plan.workers[w], gpus_of_worker(plan.workers[w], plan.cameras));
  }
  set_up_cameras(plan);
}

void Supervisor::set_up_member(Member& member, unsigned index, const WorkerPlan& planned,
                               const std::vector<Device>& sees) {
  member.worker = index;
  member.process = first_worker_process + index;
  member.gpu = planned.gpu;
  member.gpu_name = gpu_name(machine_.devices, planned.gpu);
  member.sees = sees;
  member.numa_node = planned.numa_node;
  member.cpus = planned.cpus;
  if (on_gpu(planned.gpu)) member.policy = RestartPolicy(longest_wait_of_gpus);
}

// In the configuration's order, and behind them their other outputs.
void Supervisor::set_up_cameras(const RigPlan& plan) {
  std::size_t places = rig_.cameras.size();
  for (const CameraConfig& config : rig_.cameras) places += config.outputs.size();
  cameras_.resize(places);
  auto next = static_cast<unsigned>(rig_.cameras.size());
  for (unsigned w = 0; w < plan.workers.size(); ++w) {
    for (const unsigned c : plan.workers[w].cameras) cameras_[c].worker = w;
  }
  std::size_t descriptors = supervisor_descriptors(members_.size());
  for (unsigned c = 0; c < rig_.cameras.size(); ++c) {
    std::vector<unsigned> own{c};
    for (std::size_t output = 0; output < rig_.cameras[c].outputs.size(); ++output) own.push_back(next++);
    make_camera(own, rig_.cameras[c], {}, plan.cameras[c], cameras_[c].worker, {});
    descriptors += descriptors_of(rig_.cameras[c]);
    if (rig_.cameras[c].enabled && descriptors > descriptor_limit()) leave_out(cameras_[c], no_descriptors);
  }
}

void Supervisor::leave_out(CameraState& source, const std::string& why) {
  fail(source, why);
  fail_all(source, source.reason);
  source.source_over = true;
  source.worker_done = true;
  for (const unsigned output : source.outputs) {
    cameras_[output].packets_over = true;
    cameras_[output].publisher_done = true;
  }
}

void Supervisor::start(Member& member) {
  member.start_at.reset();
  if (!needed(member)) return;
  page_.process(member.process).beat = 0;
  page_.process(member.process).arrived = 0;
  std::vector<std::string> arguments{"master"};
  if (member.kind == Kind::publisher) arguments = {"publisher"};
  if (member.kind == Kind::worker) arguments = {"worker", std::to_string(member.worker)};
  std::vector<std::string> variables = mps_variables(rig_.mps);
  variables.push_back(see_gpus(member.sees));
  reserve_.release();
  try {
    failpoint("supervisor.starting", role_of(member));
    member.child = std::make_unique<ChildProcess>(arguments, log_write_.get(), variables);
  } catch (const std::exception& error) {
    // A machine out of processes, memory or descriptors may have some again soon; the others run on meanwhile, and do
    // not wait for it at the barrier.
    if (member.kind != Kind::master) page_.barrier().remove(participant_of(member.process));
    const auto now = Clock::now();
    member.start_at = std::max(member.policy.on_death(now, now), now + milliseconds(250));
    spdlog::error("{}; tried again", error.what());
    return;
  }
  introduce(member);
}

// "worker 0", as the process list and the log call it.
std::string Supervisor::role_of(const Member& member) {
  if (member.kind == Kind::worker) return fmt::format("worker {}", member.worker);
  return member.kind == Kind::master ? "master" : "publisher";
}

// Everything that a new process has to know, then `start`.
void Supervisor::introduce(Member& member) {
  const std::uint32_t phase = member.kind == Kind::master ? 0 : page_.barrier().add(participant_of(member.process));
  messages::Setup setup;
  setup.role = role_of(member);
  setup.process = member.process;
  if (member.kind == Kind::publisher) setup.server = rig_.server;
  setup.log_level = options_.log_level;
  setup.gpu = member.gpu;
  setup.sees = member.sees;
  setup.numa_node = member.numa_node;
  setup.cpus = member.cpus;
  send(member, setup, {page_.shared_fd(), page_.fd_of(member.process)});
  for (CameraState& camera : cameras_) {
    if (has_camera(member, camera)) introduce_camera(member, camera);
    if (member.kind == Kind::publisher) tell_disabled(camera);
  }
  if (member.kind != Kind::master) send(member, messages::Start{phase});
}

bool Supervisor::has_camera(const Member& member, const CameraState& camera) const {
  if (!takes_part(camera)) return false;
  switch (member.kind) {
    case Kind::master:
      return !camera.follows && !camera.source_over;
    case Kind::publisher:
      return !camera.publisher_done;  // so is one that was set aside there
    case Kind::worker:
      return !camera.follows && camera.worker == member.worker && !camera.worker_done;
  }
  return false;
}

// Worth starting (again): some camera still has work for it.
bool Supervisor::needed(const Member& member) const {
  if (phase_ == Phase::leaving) return false;
  if (phase_ == Phase::draining && member.kind == Kind::master) return false;
  if (member.kind == Kind::publisher && serves(rig_.server)) return true;
  return std::any_of(cameras_.begin(), cameras_.end(), [&](const CameraState& c) { return has_camera(member, c); });
}

void Supervisor::check(Member& member) {
  if (!member.child) return;
  read_messages(member, most_messages, most_bytes);
  if (member.child->outbox().waiting()) flush(member);
  const auto info = member.child->reap();
  if (!info) return;
  // What it sent in its last moments, of which the kernel keeps no more than what a socket holds.
  read_messages(member, std::numeric_limits<std::size_t>::max(), most_bytes_of_the_dead);
  on_death(member, *info);
}

// At most so many at once, and no further one after so many bytes: the other processes' turn comes, too.
void Supervisor::read_messages(Member& member, std::size_t most, std::size_t bytes) {
  std::optional<Message> message;
  try {
    for (std::size_t read = 0; most > 0 && read < bytes; --most) {
      message = member.child->channel().receive(messages::PutCamera::type);
      if (!message) return;
      read += message->size;
      handle(member, *message);
    }
  } catch (const BadMessage& error) {
    end(member, fmt::format("is ended: it sent {}: {}", error.what(), shown(*message)));
  } catch (const std::exception& error) {
    end(member, fmt::format("is ended: {}", error.what()));
  }
}

void Supervisor::flush(Member& member) {
  try {
    member.child->outbox().flush();
  } catch (const std::exception& error) {
    end(member, fmt::format("is ended: {}", error.what()));
  }
}

ThreadBlock& Supervisor::thread_of(const Member& member, unsigned camera) const {
  if (member.kind == Kind::master) return page_.master(camera).ingest;
  if (member.kind == Kind::worker) return page_.worker(camera, member.worker).stage;
  return page_.publisher(camera).publish;
}

// One death is one line, however long it takes.
void Supervisor::end(Member& member, const std::string& why) {
  if (!member.child->killed()) spdlog::error("{} {}", role_of(member), why);
  member.child->kill();
}

void Supervisor::on_death(Member& member, const ExitInfo& info) {
  const auto now = Clock::now();
  const auto started = member.child->started();
  const auto lived = std::chrono::duration<double>(now - started).count();
  member.cpu_s += info.cpu_s;
  member.child.reset();
  if (member.kind != Kind::master) page_.barrier().remove(participant_of(member.process));
  const bool explained = find_guilty(member);
  const Clock::time_point restart_at =
      member.policy.on_death(started, now, crashed_unexplained(member, info, explained));
  if (member.kind == Kind::master) on_master_death();
  if (member.kind == Kind::worker) on_worker_death(member.worker);
  if (phase_ == Phase::draining && member.kind == Kind::master) give_up_sources();
  if (!needed(member)) return;
  member.start_at = restart_at;
  if (phase_ == Phase::draining) start_waiting_processes(now + restart_while_draining);
  ++member.restarts;
  const auto wait = std::chrono::duration<double>(*member.start_at - now).count();
  spdlog::error("{} died ({}) after {:.1f} s; it starts again {}", role_of(member), describe(info), lived,
                wait > 0 ? fmt::format("in {:.2f} s", wait) : "at once");
}

void Supervisor::on_master_death() {
  for (CameraState& camera : cameras_) {
    if (camera.retiring) on_source_over(camera, "");
    if (is_copy(camera.config.encode) && camera.newest_packets) camera.newest_packets->mark_writer_gone();
    if (camera.newest_audio) camera.newest_audio->mark_writer_gone();
    if (!camera.frames) continue;
    camera.frames->observer.mark_writer_gone();
    if (const auto pts = camera.frames->observer.last_pts()) camera.last_pts = pts;
  }
}

void Supervisor::on_worker_death(unsigned index) {
  for (CameraState& camera : cameras_) {
    if (camera.follows || camera.worker != index || camera.worker_done) continue;
    ++camera.worker_restarts;
    for (const unsigned output : camera.outputs) {
      CameraState& state = cameras_[output];
      if (!is_copy(state.config.encode) && state.newest_packets) state.newest_packets->mark_writer_gone();
    }
    if (camera.frames && camera.frames->reader) camera.frames->observer.mark_reader_gone(*camera.frames->reader);
    camera.unsettled = true;
    if (phase_ == Phase::leaving || all_failed(camera, true)) on_worker_done(camera);
  }
}

}  // namespace campipe
