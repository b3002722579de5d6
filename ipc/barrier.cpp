#include "ipc/barrier.h"

#include <bit>

#include "ipc/futex.h"

namespace campipe {
namespace {

struct State {
  std::uint32_t phase;
  std::uint16_t expected;
  std::uint16_t arrived;
};

State state_in(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint16_t>(word >> 16),
          static_cast<std::uint16_t>(word)};
}

std::uint64_t word_of(State s) { return std::uint64_t{s.phase} << 32 | std::uint64_t{s.expected} << 16 | s.arrived; }

// Waiters sleep on the half of the word that holds the phase.
const std::atomic<std::uint32_t>& phase_of(const Barrier::Word& word) {
  static_assert(std::endian::native == std::endian::little);
  return reinterpret_cast<const std::atomic<std::uint32_t>*>(&word)[1];
}

// Applies `change` to the word; completes the phase in the same step where all have arrived. Returns the state before.
template <typename Change>
State update(Barrier::Word& word, Change change) {
  std::uint64_t seen = word.load(std::memory_order_seq_cst);
  for (;;) {
    const State before = state_in(seen);
    State after = before;
    if (!change(after)) return before;
    const bool complete = after.arrived == after.expected && after.expected != 0;
    if (complete) {
      ++after.phase;
      after.arrived = 0;
    }
    if (!word.compare_exchange_weak(seen, word_of(after), std::memory_order_seq_cst)) continue;
    if (complete) futex_wake_all(phase_of(word));
    return before;
  }
}

}  // namespace

std::uint32_t Barrier::add(unsigned participant) {
  return update(*word_,
                [&](State& s) {
                  s.expected |= static_cast<std::uint16_t>(1U << participant);
                  return true;
                })
      .phase;
}

void Barrier::remove(unsigned participant) {
  update(*word_, [&](State& s) {
    const auto others = static_cast<std::uint16_t>(~(1U << participant));
    s.expected &= others;
    s.arrived &= others;
    return true;
  });
  // It may have completed the phase and died before it woke the others.
  futex_wake_all(phase_of(*word_));
}

void Barrier::arrive(unsigned participant, std::uint32_t phase) {
  update(*word_, [&](State& s) {
    if (s.phase != phase) return false;
    s.arrived |= static_cast<std::uint16_t>(1U << participant);
    return true;
  });
}

std::uint16_t Barrier::wait(std::uint32_t phase, Deadline deadline) const {
  for (;;) {
    const State state = state_in(word_->load(std::memory_order_seq_cst));
    if (state.phase > phase) return 0;
    if (Clock::now() >= deadline) return static_cast<std::uint16_t>(state.expected & ~state.arrived);
    futex_wait(phase_of(*word_), state.phase, deadline);
  }
}

bool Barrier::over(std::uint32_t phase) const { return state_in(word_->load(std::memory_order_seq_cst)).phase > phase; }

}  // namespace campipe
