#include "tests/sim/world.h"

#include <fmt/format.h>

#include <utility>

#include "tests/sim/virtual_time.h"

namespace campipe::sim {
namespace {

constexpr std::size_t most_lines = 200'000;  // of the trace

}  // namespace

World::World(std::uint64_t seed) : chance(seed), now_(seconds(100'000)), began_(now_) { show_world(this); }

World::~World() { show_world(nullptr); }

double World::seconds_run() const { return std::chrono::duration<double>(now_ - began_).count(); }

void World::at(Clock::time_point when, std::function<void()> what) {
  events_.push({std::max(when, now_), scheduled_++, std::move(what)});
}

void World::run(nanoseconds longest, const std::function<bool()>& wakes) {
  const Clock::time_point end = now_ + longest;
  while (!events_.empty() && events_.top().when <= end) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.when;
    time_has_passed();
    event.what();
    if (wakes()) return;
  }
  now_ = end;
  time_has_passed();
}

void World::trace(const std::string& line) {
  if (trace_.size() < most_lines) trace_.push_back(fmt::format("{:12.6f}  {}", seconds_run(), line));
}

void World::fail(const std::string& what) {
  trace("FAILED: " + what);
  if (!failure_) failure_ = fmt::format("after {:.3f} s: {}", seconds_run(), what);
}

}  // namespace campipe::sim
