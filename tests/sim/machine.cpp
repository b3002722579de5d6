#include "tests/sim/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace campipe::sim {
namespace {

Part part_of(const std::string& role) {
  for (const Part part : {Part::source, Part::master, Part::worker, Part::publisher}) {
    if (role == name_of(part)) return part;
  }
  if (role.starts_with("quarantine")) return Part::master;
  throw Error("this machine has no program for " + role);
}

}  // namespace

Machine::Machine(World& world, Course course)
    : world_(world),
      course_(std::move(course)),
      end_(world.now() + course_.ends),
      seed_of_children_(world.chance.number()) {
  for (const Fault& fault : course_.faults) {
    world_.in(fault.at, [this, fault] { befall(fault); });
  }
  wake_supervisor_at(end_);
}

Machine::~Machine() = default;

std::unique_ptr<ChildProcess> Machine::start(const std::string& role) {
  const Part part = part_of(role);
  const auto at = static_cast<std::size_t>(part);
  if (failing_starts_[at] > 0) {
    --failing_starts_[at];
    calm_since_ = world_.now();
    throw Error(fmt::format("cannot start {}: Resource temporarily unavailable", role));
  }
  // The same whatever befell the others.
  Chance chance(seed_of_children_ ^ (0x9E3779B97F4A7C15 * (1000 * (at + 1) + lives_[at]++)));
  const auto child = std::make_shared<Child>(*this, part, role, next_pid_++, chance.split());
  world_.trace(fmt::format("{} (pid {}) is started", role, child->pid()));
  children_.push_back(child);
  child->start();
  return std::make_unique<ChildHandle>(child);
}

std::size_t Machine::running() const {
  return static_cast<std::size_t>(std::ranges::count_if(children_, &Child::is_alive));
}

nanoseconds Machine::time_to_die(Part part) {
  const nanoseconds slow = std::exchange(slow_deaths_[static_cast<std::size_t>(part)], nanoseconds(0));
  return std::max(slow, world_.chance.between(microseconds(100), milliseconds(20)));
}

void Machine::bury(std::unique_ptr<Role> role, std::optional<RigPage> page) {
  if (role) graves_.emplace_back(std::move(role), std::move(page));
}

bool Machine::awaits_supervisor() const {
  return std::ranges::any_of(children_, [](const auto& child) { return child->awaits_supervisor(); });
}

void Machine::wake_supervisor_at(Clock::time_point when) {
  world_.at(when, [] {});
}

void Machine::befall(const Fault& fault) {
  world_.trace("fault: " + describe(fault));
  checks_.on_fault(fault);
  calm_since_ = std::max(calm_since_, world_.now() + fault.lasts);
  const auto at = static_cast<std::size_t>(fault.part);
  switch (fault.kind) {
    case FaultKind::start_fails:
      failing_starts_[at] = 1 + static_cast<unsigned>(fault.detail);
      break;
    case FaultKind::slow_death:
      slow_deaths_[at] = milliseconds(500) * static_cast<int>(1 + fault.detail);
      break;
    case FaultKind::camera_away:
      camera_away_until_ = world_.now() + fault.lasts;
      break;
    case FaultKind::pause:
      paused_until_ = world_.now() + fault.lasts;
      if (!stops_machine(fault)) break;
      for (const auto& child : children_) {  // the supervisor comes first
        const nanoseconds later = world_.chance.between(nanoseconds(0), milliseconds(100));
        child->befall({FaultKind::stopped, fault.part, fault.at, fault.lasts + later});
      }
      break;
    default:
      for (const auto& child : children_) {
        if (child->part() != fault.part || !child->is_alive()) continue;
        world_.reached(fmt::format("fault {} of {}", name_of(fault.kind), name_of(fault.part)));
        child->befall(fault);
      }
  }
  world_.reached(fmt::format("fault {}", name_of(fault.kind)));
}

void Machine::on_ring(const Child& by, const std::string& name, std::uint64_t epoch) {
  if (!rings_.insert({name, epoch}).second)
    world_.fail(fmt::format("{} makes ring {} of {}, which was made before", by.name(), epoch, name));
}

void Machine::on_file(const Child& by, const std::string& path) {
  const auto [file, is_new] = files_.try_emplace(path, by.pid());
  if (is_new || file->second == by.pid()) return;
  const bool lives = std::ranges::any_of(
      children_, [&](const auto& child) { return child->pid() == file->second && child->is_alive(); });
  if (lives) world_.fail(fmt::format("two processes write {}", path));
  file->second = by.pid();
}

}  // namespace campipe::sim
