#include "tests/sim/cluster/world.h"

#include <fmt/format.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#include <exception>
#include <memory>
#include <utility>

namespace campipe::sim {
namespace {

constexpr std::size_t stack_size = std::size_t{256} * 1024;

// AddressSanitizer is told of each change of stacks.
#if defined(__SANITIZE_ADDRESS__)
void begin_switch(void** kept, const void* bottom, std::size_t size) {
  __sanitizer_start_switch_fiber(kept, bottom, size);
}
void end_switch(void* kept, const void** bottom, std::size_t* size) {
  __sanitizer_finish_switch_fiber(kept, bottom, size);
}
#else
void begin_switch(void** /*kept*/, const void* /*bottom*/, std::size_t /*size*/) {}
void end_switch(void* /*kept*/, const void** /*bottom*/, std::size_t* /*size*/) {}
#endif

}  // namespace

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

Span Random::between(Span least, Span most) {
  const auto range = std::chrono::duration_cast<std::chrono::microseconds>(most - least).count();
  return least + std::chrono::microseconds(below(static_cast<std::uint64_t>(range) + 1));
}

void World::at(Time when, std::function<void()> act) {
  events_.push({std::max(when, now_), number_++, std::move(act)});
}

void World::run_until(Time end) {
  while (!events_.empty() && events_.top().when <= end) {
    // The queue shows its top as const; it is popped at once.
    Event event = std::move(const_cast<Event&>(events_.top()));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    events_.pop();
    now_ = event.when;
    event.act();
  }
  now_ = end;
}

double World::seconds() const { return std::chrono::duration<double>(now_ - (Time() + std::chrono::hours(1))).count(); }

void World::trace(const std::string& line) {
  if (trace_ != nullptr) trace_->push_back(fmt::format("{:9.3f} {}", seconds(), line));
}

void Process::at(Time when, std::function<void()> act) {
  world_.at(when, [state = state_, act = std::move(act)] {
    if (state->dead) return;
    if (state->stopped) return state->waiting.push_back(act);
    act();
  });
}

void Process::go_on() {
  state_->stopped = false;
  for (auto& act : std::exchange(state_->waiting, {})) at(world_.now(), std::move(act));
}

Fiber::Fiber(Process& process, std::function<void()> body)
    : process_(process), body_(std::move(body)), stack_(std::make_unique_for_overwrite<char[]>(stack_size)) {
  getcontext(&there_);
  there_.uc_stack.ss_sp = stack_.get();
  there_.uc_stack.ss_size = stack_size;
  there_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  // makecontext() takes ints.
  makecontext(&there_, reinterpret_cast<void (*)()>(&Fiber::enter), 2,  // NOLINT
              static_cast<unsigned>(self >> 32U), static_cast<unsigned>(self));
  schedule(process_.world().now());
}

Fiber::~Fiber() {
  *self_ = nullptr;
  ++*turn_;
  is_killed_ = true;
  if (!is_over_) resume();
}

void Fiber::enter(unsigned high, unsigned low) {
  const auto address = (static_cast<std::uintptr_t>(high) << 32U) | low;
  auto& self = *reinterpret_cast<Fiber*>(address);  // NOLINT
  end_switch(nullptr, &self.outer_stack_, &self.outer_size_);
  try {
    if (!self.is_killed_) self.body_();
  } catch (const Killed&) {  // the process is dead
  }
  self.is_over_ = true;
  self.leave(true);
}

void Fiber::resume() {
  void* kept = nullptr;
  begin_switch(&kept, stack_.get(), stack_size);
  swapcontext(&here_, &there_);
  end_switch(kept, nullptr, nullptr);
}

void Fiber::leave(bool for_good) {
  void* kept = nullptr;
  begin_switch(for_good ? nullptr : &kept, outer_stack_, outer_size_);
  swapcontext(&there_, &here_);
  end_switch(kept, &outer_stack_, &outer_size_);
}

void Fiber::schedule(Time when) {
  process_.at(when, [this, turn = turn_, now = *turn_] {
    if (*turn != now) return;
    ++*turn;
    resume();
  });
}

void Fiber::wait_until(Time due) {
  schedule(due);
  leave(false);
  if (is_killed_) throw Killed();
}

std::function<void()> Fiber::waker() {
  return [self = self_] {
    if (*self != nullptr) (*self)->wake();
  };
}

void Fiber::wake() { schedule(process_.world().now()); }

}  // namespace campipe::sim
