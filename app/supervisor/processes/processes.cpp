#include "app/supervisor/processes/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "app/config/rig_settings.h"
#include "app/control/child_environment.h"
#include "app/control/messages/cluster.h"
#include "app/control/messages/requests.h"
#include "app/control/messages/run.h"
#include "app/control/messages/setup.h"
#include "app/placement/plan.h"
#include "app/placement/quarantine.h"
#include "app/placement/stand_ins.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/gpu.h"
#include "core/log.h"
#include "core/passwords.h"
#include "core/printable.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto restart_while_draining = milliseconds(100);
constexpr std::size_t most_messages = 64;         // of one process, before the others' turn
constexpr std::size_t most_bytes = 512UL * 1024;  // likewise
constexpr std::size_t most_bytes_of_the_dead = 4UL * 1024 * 1024;
constexpr std::size_t longest_shown = 300;  // of a wrong message

// Of a GPU's worker or master. One that finds no memory on the GPU ends, and what took it may be gone any moment; the
// start that then succeeds takes a second or two, and within five the camera shall be back.
constexpr auto longest_wait_of_gpus = seconds(2);

ProcessId id_of(ProcessKind kind, unsigned number) {
  switch (kind) {
    case ProcessKind::source:
      return source_process;
    case ProcessKind::master:
      return master_process_of(number);
    case ProcessKind::publisher:
      return publisher_process;
    case ProcessKind::worker:
      return worker_process(number);
    case ProcessKind::cluster:
      return cluster_process;
    case ProcessKind::link:
      return link_process;
  }
  return {};
}

// "worker 0": two of them.
std::vector<std::string> words_of(const std::string& role) {
  const auto space = role.find(' ');
  if (space == std::string::npos) return {role};
  return {role.substr(0, space), role.substr(space + 1)};
}

// Of a message that is none: its beginning, and of URLs no more than where they lead.
std::string shown(const Message& message) {
  std::string text = message.body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > longest_shown) text.replace(longest_shown, std::string::npos, "…");
  return printable(redact_urls(text));
}

// The only message of a process whose body may be large.
std::string_view large_message_of(ProcessKind kind) {
  return kind == ProcessKind::cluster ? messages::ClusterSeen::type : messages::PutCamera::type;
}

bool has_node(const ManagedProcess& process, const Camera& camera) {
  return std::ranges::any_of(camera.nodes,
                             [&](const CameraNode& node) { return node.process() == process.id && !node.done; });
}

}  // namespace

std::string role_of(const ManagedProcess& process) {
  switch (process.kind) {
    case ProcessKind::source:
      return "source";
    case ProcessKind::master:
      return process.quarantine ? quarantine_name(*process.quarantine) : master_name(process.place.gpu_name);
    case ProcessKind::publisher:
      return "publisher";
    case ProcessKind::worker:
      return worker_name(process.number);
    case ProcessKind::cluster:
      return "cluster";
    case ProcessKind::link:
      return worker_name(no_worker);
  }
  return "";
}

Processes::Processes(RigState& rig, StepGuard& guard, StartProcess start, Events events)
    : rig_(rig), guard_(guard), start_(std::move(start)), events_(std::move(events)) {}

ManagedProcess& Processes::add(ProcessKind kind, ProcessPlace place) {
  const unsigned number = count(kind);
  if (kind == ProcessKind::master && number == max_masters) throw Error("more GPUs decode than there can be");
  rig_.page.add(id_of(kind, number));
  ManagedProcess& process = processes_.emplace_back();
  process.kind = kind;
  process.number = number;
  process.id = id_of(kind, number);
  process.place = std::move(place);
  if (on_gpu(process.place.gpu)) process.policy = RestartPolicy(longest_wait_of_gpus);
  return process;
}

ManagedProcess& Processes::of(ProcessKind kind, unsigned number) {
  const auto found = std::ranges::find_if(
      processes_, [&](const ManagedProcess& process) { return process.kind == kind && process.number == number; });
  if (found == processes_.end()) throw Error("there is no such process");
  return *found;
}

ManagedProcess& Processes::of(ProcessId process) {
  const auto found = std::ranges::find(processes_, process, &ManagedProcess::id);
  if (found == processes_.end()) throw Error("there is no such process");
  return *found;
}

ManagedProcess& Processes::master_at(const ProcessPlace& place) {
  const auto found = std::ranges::find_if(processes_, [&](const ManagedProcess& process) {
    return process.kind == ProcessKind::master && !process.quarantine && process.place.gpu == place.gpu;
  });
  return found != processes_.end() ? *found : add(ProcessKind::master, place);
}

// Its cameras' decoders make contexts where they need them.
ManagedProcess& Processes::quarantine(unsigned number) {
  const auto found = std::ranges::find(processes_, std::optional(number), &ManagedProcess::quarantine);
  if (found != processes_.end()) return *found;
  ProcessPlace place;
  for (const Gpu& gpu : rig_.machine.devices.gpus) {
    if (gpu.problem.empty()) place.sees.push_back(gpu.device);
  }
  ManagedProcess& master = add(ProcessKind::master, std::move(place));
  master.quarantine = number;
  return master;
}

unsigned Processes::restarts(ProcessKind kind) const {
  unsigned sum = 0;
  for (const ManagedProcess& process : processes_) sum += process.kind == kind ? process.restarts : 0;
  return sum;
}

unsigned Processes::count(ProcessKind kind) const {
  return static_cast<unsigned>(std::ranges::count(processes_, kind, &ManagedProcess::kind));
}

void Processes::start_all() {
  // All are expected at the start barrier before the first of them can arrive.
  for (const ManagedProcess& process : processes_) {
    if (meets_at_barrier(process) && events_.needed(process)) rig_.page.barrier().add(participant_of(process.id));
  }
  for (ManagedProcess& process : processes_) {
    guard_.run("start a process", [&] { start(process); });
  }
}

void Processes::start(ManagedProcess& process) {
  process.start_at.reset();
  if (!events_.needed(process)) return;
  choose_visible(process.place);
  process.hung = process.unneeded = false;
  process.ended_since.clear();
  rig_.page.process(process.id).beat = 0;
  rig_.page.process(process.id).arrived = 0;
  std::vector<std::string> variables = mps_variables(rig_.settings().mps);
  variables.push_back(see_gpus(process.place.sees));
  try {
    failpoint("supervisor.starting", role_of(process));
    process.child = start_(words_of(role_of(process)), variables);
  } catch (const std::exception& error) {
    // A machine out of processes, memory or descriptors may have some again soon; the others run on meanwhile, and do
    // not wait for it at the barrier.
    if (meets_at_barrier(process)) rig_.page.barrier().remove(participant_of(process.id));
    const auto now = Clock::now();
    process.start_at = std::max(process.policy.on_death(now, now), now + milliseconds(250));
    spdlog::error("{}; tried again", error.what());
    return;
  }
  const std::uint32_t phase = meets_at_barrier(process) ? rig_.page.barrier().add(participant_of(process.id)) : 0;
  messages::Setup setup;
  setup.role = role_of(process);
  setup.process = process.id;
  if (process.kind == ProcessKind::publisher) {
    setup.server = rig_.settings().server;
    setup.cluster = rig_.settings().cluster;
  }
  setup.log_level = rig_.options.log_level;
  setup.gpu = process.place.gpu;
  setup.sees = process.place.sees;
  setup.numa_node = process.place.numa_node;
  setup.cpus = process.place.cpus;
  send(process, setup, {rig_.page.shared_fd(), rig_.page.fd_of(process.id)});
  events_.on_started(process);
  if (meets_at_barrier(process)) send(process, messages::Start{phase});
}

// CUDA shows none of those that are named behind one that is not there.
void Processes::choose_visible(ProcessPlace& place) const {
  if (place.needs.empty()) place.needs = place.sees;
  place.sees = place.needs;
  std::erase_if(place.sees, [this](const Device& device) { return is_gone(rig_.machine.devices, device); });
}

void Processes::add_waits(Waits& waits) const {
  for (const ManagedProcess& process : processes_) {
    if (process.child) process.child->add_waits(waits);
  }
}

void Processes::serve() {
  for (ManagedProcess& process : processes_) {
    guard_.run("look after a process", [&] { serve(process); });
  }
}

void Processes::serve(ManagedProcess& process) {
  if (!process.child) return;
  read_messages(process, most_messages, most_bytes);
  if (process.child->has_unsent()) flush(process);
  const auto info = process.child->reap();
  if (!info) return;
  // What it sent in its last moments, of which the kernel keeps no more than what a socket holds.
  read_messages(process, std::numeric_limits<std::size_t>::max(), most_bytes_of_the_dead);
  on_death(process, *info);
}

// At most so many at once, and no further one after so many bytes: the other processes' turn comes, too.
void Processes::read_messages(ManagedProcess& process, std::size_t most, std::size_t bytes) {
  std::optional<Message> message;
  try {
    for (std::size_t read = 0; most > 0 && read < bytes; --most) {
      message = process.child->receive(large_message_of(process.kind));
      if (!message) return;
      read += message->size;
      events_.on_message(process, *message);
    }
  } catch (const BadMessage& error) {
    end(process, fmt::format("is ended: it sent {}: {}", error.what(), shown(*message)));
  } catch (const std::exception& error) {
    end(process, fmt::format("is ended: {}", error.what()));
  }
}

void Processes::flush(ManagedProcess& process) {
  try {
    process.child->flush();
  } catch (const std::exception& error) {
    end(process, fmt::format("is ended: {}", error.what()));
  }
}

bool Processes::send(ManagedProcess& process, std::string_view type, const nlohmann::json& body,
                     const std::vector<int>& fds) {
  if (!process.child) return false;
  try {
    return process.child->send(type, body, fds);
  } catch (const MessageTooLarge&) {  // it will not be smaller for its successor
    guard_.run("send to a process", [] { throw; });
    return false;
  } catch (const std::exception& error) {
    end(process, fmt::format("is ended: {}", error.what()));
    return false;
  }
}

void Processes::end(ManagedProcess& process, const std::string& why) {
  if (!process.child->killed()) spdlog::error("{} {}", role_of(process), why);
  process.child->kill();
}

void Processes::end_unneeded(ManagedProcess& process) {
  if (!process.child || process.child->killed()) return;
  process.unneeded = true;
  process.child->kill();
}

void Processes::end_since(ManagedProcess& process, const std::string& why) {
  if (!process.child || process.child->killed()) return;
  process.ended_since = why;
  process.child->kill();
}

void Processes::on_death(ManagedProcess& process, const ExitInfo& info) {
  const auto now = Clock::now();
  const auto started = process.child->started();
  const auto lived = std::chrono::duration<double>(now - started).count();
  process.cpu_s += info.cpu_s;
  process.child.reset();
  if (meets_at_barrier(process)) rig_.page.barrier().remove(participant_of(process.id));
  const bool again = events_.on_death(process, info);
  const Clock::time_point restart_at = process.policy.on_death(started, now, again);
  const bool needed = events_.needed(process);
  if (std::exchange(process.unneeded, false)) {
    if (needed) process.start_at = now;
    return spdlog::info("{} is ended: no camera needs it", role_of(process));
  }
  if (!needed && rig_.phase != RunPhase::running) return;
  ++process.restarts;
  std::string when = "when a camera needs it";
  if (needed) {
    process.start_at = restart_at;
    if (rig_.phase == RunPhase::draining) start_by(now + restart_while_draining);
    const auto wait = std::chrono::duration<double>(*process.start_at - now).count();
    when = wait > 0 ? fmt::format("in {:.2f} s", wait) : "at once";
    if (events_.doubtful(process)) when += fmt::format(", if GPU {} can be used", process.place.gpu_name);
  }
  const std::string since = std::exchange(process.ended_since, "");
  if (!since.empty())
    return spdlog::warn("{} is ended after {:.1f} s, since {}; restarted {}", role_of(process), lived, since, when);
  spdlog::error("{} died ({}) after {:.1f} s; restarted {}", role_of(process), describe(info), lived, when);
}

void Processes::start_due() {
  const auto now = Clock::now();
  for (ManagedProcess& process : processes_) {
    guard_.run("start a process", [&] {
      // One that is needed and neither runs nor waits: an error came between its death and its restart.
      if (!process.child && !process.start_at && events_.needed(process)) process.start_at = now;
      if (!process.child && process.start_at && now >= *process.start_at) start(process);
    });
  }
}

void Processes::start_by(Clock::time_point by) {
  for (ManagedProcess& process : processes_) {
    if (process.start_at) process.start_at = std::min(*process.start_at, by);
  }
}

bool Processes::all_gone() const {
  return std::ranges::none_of(processes_, [](const ManagedProcess& p) { return p.child || p.start_at; });
}

void Processes::kill_all() {
  for (ManagedProcess& process : processes_) {
    process.start_at.reset();
    if (process.child) process.child->kill();
  }
}

bool has_work(const ManagedProcess& process, const Camera& camera) {
  if (!camera.takes_part()) return false;
  switch (process.kind) {
    case ProcessKind::source:
      return !camera.source.over && !camera.is_mosaic();
    case ProcessKind::master:
      if (camera.relocation) return false;  // another one will have
      return camera.decoding.process == process.id && !camera.decoding.over && camera.is_decoded();
    case ProcessKind::publisher:
      return std::ranges::any_of(camera.outputs, [](const Output& output) { return !output.publisher.done; });
    case ProcessKind::worker:
      return has_node(process, camera);
    case ProcessKind::link:
      return has_node(process, camera) ||
             std::ranges::any_of(camera.edges, [](const CameraEdge& edge) { return edge.link.has_value(); });
    case ProcessKind::cluster:
      return false;
  }
  return false;
}

bool has_work(const ManagedProcess& process, const Camera& camera, const Output& output) {
  if (process.kind != ProcessKind::publisher) return has_work(process, camera);
  return camera.takes_part() && !output.publisher.done;  // so is one that was quarantined there
}

}  // namespace campipe
