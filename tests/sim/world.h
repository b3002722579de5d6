// A simulated machine's time and chance. Virtual time passes only in World::run(), which is called where the supervisor
// waits: everything else takes none. All that happens is an event at a virtual time; events at the same time happen in
// the order in which they were scheduled. All chance comes from the seed. So a seed repeats a run exactly.
//
// There is one world in a process at a time: it is what Clock::now() reads (tests/sim/virtual_time.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "core/clock.h"

namespace campipe::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Numbers that depend on the seed alone, the same with each standard library.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : generator_(seed) {}
  std::uint64_t number() { return generator_(); }
  // From 0 to `end` - 1.
  std::uint64_t below(std::uint64_t end) { return number() % end; }
  nanoseconds between(nanoseconds least, nanoseconds most) {
    return least + nanoseconds(below(static_cast<std::uint64_t>((most - least).count()) + 1));
  }
  // True once in `times`.
  bool one_in(std::uint64_t times) { return below(times) == 0; }
  // A generator whose numbers do not depend on how many others draw.
  Chance split() { return Chance(number()); }

 private:
  std::mt19937_64 generator_;
};

class World {
 public:
  explicit World(std::uint64_t seed);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  [[nodiscard]] Clock::time_point now() const { return now_; }
  // Since the run began.
  [[nodiscard]] double seconds_run() const;
  void at(Clock::time_point when, std::function<void()> what);
  void in(nanoseconds delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  // Lets time pass until `longest` has passed, or `wakes` returns true behind some event.
  void run(nanoseconds longest, const std::function<bool()>& wakes);
  // Nothing of what was scheduled happens any more.
  void forget_events() { events_ = {}; }

  Chance chance;

  // A line of what happened, for people.
  void trace(const std::string& line);
  // A property does not hold: the first one is what the seed fails with.
  void fail(const std::string& what);
  [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }
  // Something that some seed is to reach has been reached.
  void reached(const std::string& what) { ++reached_[what]; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& all_reached() const { return reached_; }
  [[nodiscard]] const std::vector<std::string>& traced() const { return trace_; }

 private:
  struct Event {
    Clock::time_point when;
    std::uint64_t number;
    std::function<void()> what;
    friend bool operator>(const Event& a, const Event& b) {
      return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
  };

  Clock::time_point now_;
  Clock::time_point began_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t scheduled_ = 0;
  std::vector<std::string> trace_;
  std::optional<std::string> failure_;
  std::map<std::string, std::uint64_t> reached_;
};

// The process's world; null: there is none, and clocks show the machine's time.
World* current_world();

}  // namespace campipe::sim
