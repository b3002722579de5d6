// The notes of a packet ring's reader (ipc/packet_ring_notes.cpp), explored exhaustively: who writes one may die at any
// step, and a successor goes on; who takes it reads at any time. Shows that
//  - what is taken was written as one note,
//  - nobody waits: a taker that met a writer has nothing, and the next time the newest note,
// and that the exploration would see it if it were otherwise: each careless variant is found out.
//
// A note is two words here, each with the number of the note that it is of.
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>

#include "tests/model/explore.h"

namespace campipe::model {
namespace CAMPIPE_FILE {

constexpr std::uint8_t most_notes = 3;
constexpr std::uint8_t most_takes = 2;

enum class Mutant {
  none,
  never_odd,            // words are written under a sequence that looks whole
  looks_once,           // the taker does not look at the sequence again
  takes_an_odd_one,     // it compares, but does not mind that a writer is there
  successor_evens_it,   // the next writer takes the sequence of a dead one for its own beginning
  same_sequence_again,  // it goes back to the one of before
};

enum class At : std::uint8_t { idle, begun, first, both };

class NotesModel {
 public:
  struct State {
    std::uint8_t sequence;
    std::uint8_t word[2];
    At writer;
    std::uint8_t writing;  // the sequence under which it writes
    std::uint8_t written;  // notes that were begun
    std::uint8_t deaths_left;
    At taker;
    std::uint8_t seen;  // the sequence
    std::uint8_t copy[2];
    std::uint8_t takes;
    std::uint8_t torn;
    std::uint8_t newest_missed;  // a take at rest that found nothing
  };

  explicit NotesModel(Mutant mutant) : mutant_(mutant) {}

  State initial() const {
    State state{};
    state.deaths_left = 2;
    return state;
  }

  template <typename Emit>
  void each_step(const State& state, Emit&& emit) const {
    write(state, emit);
    if (state.writer != At::idle && state.deaths_left > 0) {
      State next = state;
      next.writer = At::idle;
      --next.deaths_left;
      emit(Step{"writer", -1, "dies", -1, true}, next);
    }
    take(state, emit);
  }

  const char* violation(const State& state) const {
    if (state.torn != 0) return "what was taken was never written as one note";
    if (state.newest_missed != 0) return "a whole note is not taken although nobody writes";
    return nullptr;
  }
  const char* wrong_end(const State& /*state*/) const { return nullptr; }

 private:
  [[nodiscard]] bool is(Mutant mutant) const { return mutant_ == mutant; }

  template <typename Emit>
  void write(const State& state, Emit& emit) const {
    State next = state;
    switch (state.writer) {
      case At::idle: {
        if (state.written == most_notes) return;
        ++next.written;
        const unsigned before = state.sequence;
        unsigned writing = (before + 1) | 1;
        if (is(Mutant::successor_evens_it)) writing = before + 1;
        if (is(Mutant::same_sequence_again)) writing = before % 2 == 0 ? before + 1 : before;
        next.writing = static_cast<std::uint8_t>(writing);
        if (!is(Mutant::never_odd)) next.sequence = next.writing;
        next.writer = At::begun;
        return emit(Step{"writer", -1, "begins note", next.written}, next);
      }
      case At::begun:
        next.word[0] = state.written;
        next.writer = At::first;
        return emit(Step{"writer", -1, "writes the first word of note", state.written}, next);
      case At::first:
        next.word[1] = state.written;
        next.writer = At::both;
        return emit(Step{"writer", -1, "writes the second word of note", state.written}, next);
      case At::both:
        next.sequence = static_cast<std::uint8_t>(is(Mutant::same_sequence_again) ? 2 : state.writing + 1);
        next.writer = At::idle;
        return emit(Step{"writer", -1, "ends note", state.written}, next);
    }
  }

  template <typename Emit>
  void take(const State& state, Emit& emit) const {
    State next = state;
    switch (state.taker) {
      case At::idle:
        if (state.takes == most_takes) return;
        ++next.takes;
        next.seen = state.sequence;
        if (state.sequence == 0 || (state.sequence % 2 != 0 && !is(Mutant::takes_an_odd_one))) {
          const bool whole = state.sequence != 0 && state.writer == At::idle && state.word[0] == state.word[1] &&
                             state.word[0] == state.written && state.deaths_left == 2;
          next.newest_missed = whole ? 1 : 0;
          return emit(Step{"taker", -1, "finds none"}, next);
        }
        next.taker = At::begun;
        return emit(Step{"taker", -1, "looks at the sequence"}, next);
      case At::begun:
        next.copy[0] = state.word[0];
        next.taker = At::first;
        return emit(Step{"taker", -1, "copies the first word"}, next);
      case At::first:
        next.copy[1] = state.word[1];
        next.taker = At::both;
        return emit(Step{"taker", -1, "copies the second word"}, next);
      case At::both: {
        const bool takes = is(Mutant::looks_once) || state.sequence == state.seen;
        next.torn = takes && state.copy[0] != state.copy[1] ? 1 : 0;
        next.copy[0] = next.copy[1] = next.seen = 0;
        next.taker = At::idle;
        return emit(Step{"taker", -1, takes ? "takes it" : "has met a writer"}, next);
      }
    }
  }

  Mutant mutant_;
};

Verdict explored(Mutant mutant) { return explore(NotesModel(mutant)); }

TEST(PacketNotesModel, Holds) {
  const Verdict verdict = explored(Mutant::none);
  std::cout << verdict << '\n';
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(PacketNotesModel, FindsEachCarelessVariant) {
  for (const Mutant mutant : {Mutant::never_odd, Mutant::looks_once, Mutant::takes_an_odd_one,
                              Mutant::successor_evens_it, Mutant::same_sequence_again}) {
    const Verdict verdict = explored(mutant);
    EXPECT_EQ(verdict.outcome, Outcome::violation) << static_cast<int>(mutant) << ' ' << verdict;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::model
