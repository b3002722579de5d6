// Virtual time, and what happens in it: events by time, and in the order in which they were asked for. One thread; no
// clock is read, nothing sleeps: the same calls have the same result on each machine.
//
// A Process is what can be stopped and killed as one. Its events wait while it is stopped, and never happen once it is
// dead. A Fiber runs code of campipe that waits, such as LeaseKeeper: a wait gives way to the other events until it is
// over. When its process dies, a wait throws Killed.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "core/clock.h"

namespace campipe::sim {

using Time = Clock::time_point;
using Span = Clock::duration;

// SplitMix64: the same numbers everywhere, which distributions of the standard library do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t count) { return count == 0 ? 0 : next() % count; }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  // From `least` to `most`, in whole microseconds.
  Span between(Span least, Span most);

 private:
  std::uint64_t state_;
};

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] Time now() const { return now_; }
  Random& random() { return random_; }
  void at(Time when, std::function<void()> act);
  void run_until(Time end);

  // Seconds since the beginning, as traces have them.
  [[nodiscard]] double seconds() const;
  void set_trace(std::vector<std::string>* lines) { trace_ = lines; }
  [[nodiscard]] bool traces() const { return trace_ != nullptr; }
  void trace(const std::string& line);

 private:
  struct Event {
    Time when;
    std::uint64_t number;
    std::function<void()> act;
    bool operator<(const Event& other) const { return when != other.when ? when > other.when : number > other.number; }
  };
  Time now_ = Time() + std::chrono::hours(1);
  std::uint64_t number_ = 0;
  std::priority_queue<Event> events_;
  Random random_;
  std::vector<std::string>* trace_ = nullptr;
};

class Process {
 public:
  explicit Process(World& world) : world_(world), state_(std::make_shared<State>()) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { kill(); }

  World& world() { return world_; }
  void at(Time when, std::function<void()> act);
  void soon(Span after, std::function<void()> act) { at(world_.now() + after, std::move(act)); }
  void stop() { state_->stopped = true; }
  void go_on();
  void kill() { state_->dead = true; }
  [[nodiscard]] bool is_stopped() const { return state_->stopped; }
  [[nodiscard]] bool is_dead() const { return state_->dead; }

 private:
  struct State {
    bool stopped = false;
    bool dead = false;
    std::deque<std::function<void()>> waiting;
  };
  World& world_;
  std::shared_ptr<State> state_;
};

class Fiber {
 public:
  struct Killed {};

  Fiber(Process& process, std::function<void()> body);
  // Unwinds what runs on it.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // On the fiber: until then, or until wake().
  void wait_until(Time due);
  // What it waits for may have come. May be called when the fiber is gone.
  [[nodiscard]] std::function<void()> waker();
  void wake();

 private:
  static void enter(unsigned high, unsigned low);
  void resume();
  void leave(bool for_good);
  void schedule(Time when);

  Process& process_;
  std::function<void()> body_;
  std::unique_ptr<char[]> stack_;  // not cleared: most of it is never touched
  ucontext_t here_{};
  ucontext_t there_{};
  std::shared_ptr<std::uint64_t> turn_ = std::make_shared<std::uint64_t>(0);  // an event of an earlier wait is void
  std::shared_ptr<Fiber*> self_ = std::make_shared<Fiber*>(this);
  // For AddressSanitizer: where the stack is that a fiber gives way to.
  const void* outer_stack_ = nullptr;
  std::size_t outer_size_ = 0;
  bool is_over_ = false;
  bool is_killed_ = false;
};

}  // namespace campipe::sim
