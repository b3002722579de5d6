// A barrier for up to 16 participants in several processes, who may die: one atomic 64-bit word in shared memory,
// {phase 32 | expected 16 | arrived 16}. The last arrival, or the removal of the last missing one, moves the phase on
// with the same compare-exchange. In a rig the supervisor does both, for those who note their arrival in pages of their
// own (rig_page.h), and the others only wait. Checked exhaustively in tests/model.
//
// campipe meets twice: phase 0 ends when workers and publisher are ready for the first frame, phase 1 when they have
// drained. A participant's place is a bit; a successor of a dead process is given the same bit again.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/clock.h"

namespace campipe {

class Barrier {
 public:
  using Word = std::atomic<std::uint64_t>;
  static constexpr unsigned max_participants = 16;

  // `word` lies in shared memory, outlives this object, and is zero at first: phase 0, no process expected.
  explicit Barrier(Word& word) : word_(&word) {}

  // Supervisor. Adds a participant before it can arrive; returns the phase that it is to arrive at first.
  std::uint32_t add(unsigned participant);
  // Supervisor, once the participant's process is gone.
  void remove(unsigned participant);

  // The participant is at the end of `phase`. Does not wait. Arriving at a phase that is over does nothing.
  void arrive(unsigned participant, std::uint32_t phase);
  // Waits until `phase` is over, or `deadline`. Returns the mask of those who are missing; 0: it is over.
  std::uint16_t wait(std::uint32_t phase, Deadline deadline) const;
  [[nodiscard]] bool over(std::uint32_t phase) const;

 private:
  Word* word_;
};

}  // namespace campipe
