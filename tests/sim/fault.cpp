#include "tests/sim/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tests/sim/cluster_faults.h"
#include "tests/sim/gpu_faults.h"

namespace campipe::sim {
namespace {

constexpr auto begin_of_faults = milliseconds(200);
constexpr auto soon = milliseconds(800);  // after the fault before, where they come together
constexpr std::uint64_t death_kinds = 3;  // the first ones
constexpr std::uint64_t most_faults = 9;
constexpr std::uint64_t most_processes = 3;  // of a part
constexpr std::uint64_t most_cameras = 6;
constexpr auto longest_fault = seconds(15);
constexpr auto longest_until_end = seconds(20);  // of a run whose faults come about its end

bool has_length(FaultKind kind) {
  switch (kind) {
    case FaultKind::silent:
    case FaultKind::stopped:
    case FaultKind::slow:
    case FaultKind::late:
    case FaultKind::deaf:
    case FaultKind::camera_away:
    case FaultKind::disk_full:
    case FaultKind::targets_away:
    case FaultKind::pause:
      return true;
    default:
      return false;
  }
}

nanoseconds length_of(FaultKind kind, Chance& chance) {
  if (!has_length(kind)) return nanoseconds(0);
  if (kind == FaultKind::pause) return chance.between(milliseconds(100), seconds(3));
  // Longer than a worker is waited for, with policy drop.
  if (kind == FaultKind::slow && chance.one_in(2)) return chance.between(seconds(11), longest_fault);
  // Shorter and longer than what is taken for a hang.
  return chance.one_in(2) ? chance.between(milliseconds(100), seconds(2)) : chance.between(seconds(2), seconds(14));
}

}  // namespace

const char* name_of(Part part) {
  constexpr std::array names{"source", "master", "worker", "publisher", "cluster"};
  return names.at(static_cast<std::size_t>(part));
}

const char* name_of(FaultKind kind) {
  constexpr std::array names{"kill",         "crash",       "exits",   "silent",     "stopped",
                             "slow",         "late",        "deaf",    "lies",       "start_fails",
                             "slow_death",   "camera_away", "pause",   "disk_full",  "targets_away",
                             "context_lost", "gpu_away",    "cut_off", "name_taken", "given_away"};
  return names.at(static_cast<std::size_t>(kind));
}

bool is_death(FaultKind kind) {
  return kind == FaultKind::kill || kind == FaultKind::crash || kind == FaultKind::exits ||
         kind == FaultKind::context_lost;
}

bool is_of_gpu(FaultKind kind) { return kind == FaultKind::context_lost || kind == FaultKind::gpu_away; }

bool is_of_cluster(FaultKind kind) {
  return kind == FaultKind::cut_off || kind == FaultKind::name_taken || kind == FaultKind::given_away;
}

bool makes_late(FaultKind kind) {
  return kind == FaultKind::slow || kind == FaultKind::stopped || kind == FaultKind::pause;
}

bool is_of_process(FaultKind kind) {
  return kind != FaultKind::camera_away && kind != FaultKind::disk_full && kind != FaultKind::targets_away &&
         kind != FaultKind::pause && kind != FaultKind::gpu_away && !is_of_cluster(kind);
}

bool is_of_all_cameras(const Fault& away) { return away.detail % 3 == 0; }

bool breaks_disk(const Fault& fault) { return fault.detail == 5; }

bool stops_machine(const Fault& pause) { return pause.detail % 2 == 1; }

std::string describe(const Fault& fault) {
  const double at = std::chrono::duration<double>(fault.at).count();
  std::string text = fmt::format("{:.3f} s: {}", at, name_of(fault.kind));
  if (is_of_process(fault.kind)) text += fmt::format(" {} {}", name_of(fault.part), fault.process);
  if (fault.kind == FaultKind::crash) text += fmt::format(" with camera {}", fault.camera);
  if (fault.kind == FaultKind::camera_away)
    text += is_of_all_cameras(fault) ? " all" : fmt::format(" camera {}", fault.camera);
  if (fault.kind == FaultKind::given_away) text += fmt::format(" camera {}", fault.camera);
  if (fault.kind == FaultKind::gpu_away) text += fmt::format(" GPU {} ({})", fault.camera, fault.detail);
  if (fault.kind == FaultKind::pause) text += stops_machine(fault) ? " of the machine" : " of the supervisor";
  if (fault.lasts.count() > 0) text += fmt::format(" for {:.3f} s", std::chrono::duration<double>(fault.lasts).count());
  if (fault.kind == FaultKind::lies || fault.kind == FaultKind::start_fails) text += fmt::format(" ({})", fault.detail);
  return text;
}

Course course_of(std::uint64_t seed, nanoseconds length, std::size_t kinds) {
  Chance chance(seed * 2 + 1);
  Course course;
  course.settles = !chance.one_in(3);
  course.ends = course.settles ? length : chance.between(milliseconds(50), longest_until_end);
  // Else about the end, which has rules of its own.
  const nanoseconds first = course.settles ? begin_of_faults : std::max<nanoseconds>(course.ends - seconds(3), {});
  const nanoseconds last = course.settles ? length - longest_recovery - longest_fault : course.ends + seconds(3);
  const bool has_target = chance.one_in(3);
  const Part target = has_target ? static_cast<Part>(chance.below(common_parts)) : Part::source;
  const auto target_or = [&](Part other) { return has_target ? target : other; };
  const bool deaths_only = chance.one_in(3);
  const bool one_camera = chance.one_in(2);
  const bool one_culprit = chance.one_in(8);  // which crashes the same process again and again
  const std::uint64_t count = chance.below(most_faults + 1);
  nanoseconds at{0};
  for (std::uint64_t i = 0; i < count; ++i) {
    Fault fault;
    fault.kind = static_cast<FaultKind>(chance.below(deaths_only ? death_kinds : kinds));
    fault.part = target_or(static_cast<Part>(chance.below(common_parts)));
    const bool together = i > 0 && chance.one_in(2);
    at = std::min(together ? at + chance.between(nanoseconds(0), soon) : chance.between(first, last), last);
    fault.at = at;
    if (fault.kind == FaultKind::slow && chance.one_in(2)) fault.part = target_or(Part::worker);
    fault.lasts = length_of(fault.kind, chance);
    fault.detail = chance.below(6);
    fault.process = chance.below(most_processes);
    const std::uint64_t camera = chance.below(most_cameras);
    fault.camera = one_camera ? 0 : camera;
    if (one_culprit) {
      fault.kind = FaultKind::crash;
      fault.part = target_or(Part::worker);
      fault.process = fault.camera = 0;
    }
    course.faults.push_back(fault);
  }
  std::ranges::stable_sort(course.faults, {}, &Fault::at);
  std::vector<nanoseconds> moments;
  for (const Fault& fault : course.faults) moments.push_back(fault.at);
  course.moves = moves_of(seed, first, last, moments);
  course.changes = changes_of(seed, first, last);
  course.gpu_faults = gpu_faults_of(seed, first, last);
  course.cluster_faults = cluster_faults_of(seed, first, last);
  course.changes_of_all = changes_of_all(seed, first, last, moments, course.moves);
  return course;
}

}  // namespace campipe::sim
