#include "tests/sim/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace campipe::sim {
namespace {

constexpr auto begin_of_faults = milliseconds(200);
constexpr auto soon = milliseconds(800);  // after the fault before, where they come together
constexpr std::uint64_t death_kinds = 3;  // the first ones
constexpr std::uint64_t most_faults = 9;
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
    case FaultKind::pause:
      return true;
    default:
      return false;
  }
}

nanoseconds length_of(FaultKind kind, Chance& chance) {
  if (!has_length(kind)) return nanoseconds(0);
  if (kind == FaultKind::pause) return chance.between(milliseconds(100), seconds(3));
  // Shorter and longer than what is taken for a hang.
  return chance.one_in(2) ? chance.between(milliseconds(100), seconds(2)) : chance.between(seconds(2), seconds(14));
}

}  // namespace

const char* name_of(Part part) {
  constexpr std::array names{"source", "master", "worker", "publisher"};
  return names.at(static_cast<std::size_t>(part));
}

const char* name_of(FaultKind kind) {
  constexpr std::array names{"kill", "crash", "exits",       "silent",     "stopped",     "slow", "late",
                             "deaf", "lies",  "start_fails", "slow_death", "camera_away", "pause"};
  static_assert(names.size() == fault_kinds);
  return names.at(static_cast<std::size_t>(kind));
}

bool is_death(FaultKind kind) {
  return kind == FaultKind::kill || kind == FaultKind::crash || kind == FaultKind::exits;
}

bool stops_machine(const Fault& pause) { return pause.detail % 2 == 1; }

std::string describe(const Fault& fault) {
  const double at = std::chrono::duration<double>(fault.at).count();
  const bool of_process = fault.kind != FaultKind::camera_away && fault.kind != FaultKind::pause;
  std::string text = fmt::format("{:.3f} s: {}", at, name_of(fault.kind));
  if (of_process) text += fmt::format(" {}", name_of(fault.part));
  if (fault.kind == FaultKind::pause) text += stops_machine(fault) ? " of the machine" : " of the supervisor";
  if (fault.lasts.count() > 0) text += fmt::format(" for {:.3f} s", std::chrono::duration<double>(fault.lasts).count());
  if (fault.kind == FaultKind::lies || fault.kind == FaultKind::start_fails) text += fmt::format(" ({})", fault.detail);
  return text;
}

Course course_of(std::uint64_t seed, nanoseconds length) {
  Chance chance(seed * 2 + 1);
  Course course;
  course.settles = !chance.one_in(3);
  course.ends = course.settles ? length : chance.between(milliseconds(50), longest_until_end);
  // Else about the end, which has rules of its own.
  const nanoseconds first = course.settles ? begin_of_faults : std::max<nanoseconds>(course.ends - seconds(3), {});
  const nanoseconds last = course.settles ? length - longest_recovery - longest_fault : course.ends + seconds(3);
  const std::optional<Part> target =
      chance.one_in(3) ? std::optional(static_cast<Part>(chance.below(parts))) : std::nullopt;
  const bool deaths_only = chance.one_in(3);
  const std::uint64_t count = chance.below(most_faults + 1);
  nanoseconds at{0};
  for (std::uint64_t i = 0; i < count; ++i) {
    Fault fault;
    fault.kind = static_cast<FaultKind>(chance.below(deaths_only ? death_kinds : fault_kinds));
    fault.part = target.value_or(static_cast<Part>(chance.below(parts)));
    const bool together = i > 0 && chance.one_in(2);
    at = std::min(together ? at + chance.between(nanoseconds(0), soon) : chance.between(first, last), last);
    fault.at = at;
    fault.lasts = length_of(fault.kind, chance);
    fault.detail = chance.below(6);
    course.faults.push_back(fault);
  }
  std::ranges::stable_sort(course.faults, {}, &Fault::at);
  return course;
}

}  // namespace campipe::sim
