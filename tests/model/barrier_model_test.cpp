// The barrier's protocol, explored exhaustively: three participants meet in three phases, two of them may die at any
// step, and the supervisor takes each dead one out and brings a successor in. Shows that
//  - no phase passes that a living participant has yet to arrive at,
//  - nobody waits for ever, and the word is left clean,
// and that the exploration would see it if it were otherwise: each careless variant of the protocol is found out.
//
// One atomic word {phase, expected, arrived} that the supervisor alone writes, and for each participant a note of how
// many phases it has arrived at, which outlives it. Steps are single accesses to them; what happens between is local.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>

#include "tests/model/explore.h"

namespace campipe::model {
namespace CAMPIPE_FILE {

constexpr int participant_count = 3;
constexpr int phase_count = 3;
constexpr std::uint8_t everyone = (1 << participant_count) - 1;

enum class Mutant {
  none,
  remove_without_completing,  // the others wait for ever for the one who was the last missing
  remove_leaves_arrived,      // the dead one's arrival counts for its successor, or for nobody
  successor_keeps_note,       // likewise, by its note
  enters_any_note,            // a note of a phase that is over counts for the next
};

struct Word {
  std::uint8_t phase;
  std::uint8_t expected;
  std::uint8_t arrived;
};

enum class Process : std::uint8_t { running, killed, removed };
enum class At : std::uint8_t {
  note,  // about to note its arrival
  wait,  // has noted it; waits for the phase to pass
};
struct Participant {
  Process process;
  At at;
  std::uint8_t phase;  // it is about to arrive at, or waits in; phase_count: it has been through all
  std::uint8_t noted;  // in its page: phases that it has arrived at
};

enum class Task : std::uint8_t { none, enter };
struct Supervisor {
  Task task;
  std::uint8_t of;     // the participant it is about
  std::uint8_t noted;  // what it has read of that one's note
};

class BarrierModel {
 public:
  struct State {
    Word word;
    std::array<Participant, participant_count> participants;
    Supervisor supervisor;
    std::uint8_t deaths_left;
  };

  explicit BarrierModel(Mutant mutant) : mutant_(mutant) {}

  State initial() const {
    State state{};
    state.word.expected = everyone;
    state.deaths_left = 2;
    return state;
  }

  template <typename Emit>
  void each_step(const State& state, Emit&& emit) const {
    for (int i = 0; i < participant_count; ++i) {
      const Participant& self = state.participants[i];
      if (self.process == Process::running && self.phase < phase_count) arrive(state, i, emit);
      if (self.process == Process::running && state.deaths_left > 0) die(state, i, emit);
      if (state.supervisor.task == Task::none) take_up(state, i, emit);
    }
    if (state.supervisor.task == Task::enter) enter(state, emit);
  }

  const char* violation(const State& state) const {
    for (const Participant& self : state.participants) {
      if (self.process == Process::running && self.at == At::note && self.phase < state.word.phase) {
        return "a phase passed that a living participant has yet to arrive at";
      }
    }
    return nullptr;
  }

  const char* wrong_end(const State& state) const {
    std::uint8_t running = 0;
    for (int i = 0; i < participant_count; ++i) {
      if (state.participants[i].process == Process::killed) return "a dead participant was not taken out";
      if (state.participants[i].process != Process::running) continue;
      if (state.participants[i].phase != phase_count) return "a participant waits for ever";
      running |= bit(i);
    }
    if (state.word.expected != running || state.word.arrived != 0) return "the word speaks of who is not there";
    return nullptr;
  }

 private:
  template <typename Emit>
  static void arrive(const State& state, int i, Emit& emit) {
    const Participant& self = state.participants[i];
    State next = state;
    Participant& then = next.participants[i];
    if (self.at == At::note) {
      then.at = At::wait;
      then.noted = static_cast<std::uint8_t>(self.phase + 1);
      emit(Step{"participant", i, "notes that it has arrived at phase", self.phase}, next);
    } else if (state.word.phase > self.phase) {
      then.at = At::note;
      then.phase++;
      emit(Step{"participant", i, "passes phase", self.phase}, next);
    }
  }

  // Its note stays.
  template <typename Emit>
  static void die(const State& state, int i, Emit& emit) {
    State next = state;
    next.participants[i] = {Process::killed, At::note, 0, state.participants[i].noted};
    next.deaths_left--;
    emit(Step{"participant", i, "is killed", -1, true}, next);
  }

  // The supervisor, one thread, takes up one participant at a time: reads its note, before or after it died; takes a
  // dead one out; then brings a successor in, or never does (a camera may be quarantined), which must hold up nobody.
  template <typename Emit>
  void take_up(const State& state, int i, Emit& emit) const {
    const Participant& self = state.participants[i];
    State next = state;
    if (self.process != Process::removed && counts(state, i, self.noted)) {
      next.supervisor = {Task::enter, static_cast<std::uint8_t>(i), self.noted};
      emit(Step{"supervisor", -1, "reads the note of participant", i}, next);
    }
    next = state;
    if (self.process == Process::killed) {
      next.word = without(state.word, i);
      next.participants[i].process = Process::removed;
      emit(Step{"supervisor", -1, "removes participant", i}, next);
    } else if (self.process == Process::removed) {
      const std::uint8_t note = mutant_ == Mutant::successor_keeps_note ? self.noted : std::uint8_t{0};
      next.word.expected |= bit(i);
      next.participants[i] = {Process::running, At::note, state.word.phase, note};
      emit(Step{"supervisor", -1, "adds and starts participant", i, true}, next);
    }
  }

  template <typename Emit>
  void enter(const State& state, Emit& emit) const {
    State next = state;
    next.supervisor = {};
    if (counts(state, state.supervisor.of, state.supervisor.noted)) {
      next.word.arrived |= bit(state.supervisor.of);
      if (next.word.arrived == next.word.expected) next.word = completed(next.word);
    }
    emit(Step{"supervisor", -1, "enters the arrival of participant", state.supervisor.of}, next);
  }

  // A note of another phase, or one that has been entered, changes nothing.
  bool counts(const State& state, int i, std::uint8_t noted) const {
    if (noted == 0 || (state.word.arrived & bit(i)) != 0 || state.word.phase == phase_count) return false;
    return noted - 1 == state.word.phase || mutant_ == Mutant::enters_any_note;
  }

  Word without(Word word, int i) const {
    word.expected &= static_cast<std::uint8_t>(~bit(i));
    if (mutant_ != Mutant::remove_leaves_arrived) word.arrived &= static_cast<std::uint8_t>(~bit(i));
    const bool is_complete = word.expected != 0 && word.arrived == word.expected;
    return is_complete && mutant_ != Mutant::remove_without_completing ? completed(word) : word;
  }

  static Word completed(const Word& word) { return {static_cast<std::uint8_t>(word.phase + 1), word.expected, 0}; }
  static std::uint8_t bit(int i) { return static_cast<std::uint8_t>(1 << i); }

  Mutant mutant_;
};

// Two processes that hand each other a turn for ever: nothing is wrong with any state, but no run ends.
struct PingPong {
  struct State {
    std::uint8_t turn;
  };
  static State initial() { return {}; }
  template <typename Emit>
  static void each_step(const State& state, Emit&& emit) {
    emit(Step{"player", state.turn, "hands over"}, State{static_cast<std::uint8_t>(1 - state.turn)});
  }
  static const char* violation(const State&) { return nullptr; }
  static const char* wrong_end(const State&) { return nullptr; }
};

TEST(Explore, FindsARunWithoutEnd) { EXPECT_EQ(explore(PingPong()).outcome, Outcome::endless); }

TEST(BarrierModel, NobodyPassesEarlyOrWaitsForEver) {
  const Verdict verdict = explore(BarrierModel(Mutant::none));
  std::cout << verdict << '\n';
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

struct CarelessBarrier {
  const char* name;
  Mutant mutant;
  friend std::ostream& operator<<(std::ostream& out, const CarelessBarrier& of) { return out << of.name; }
};

class CarelessBarrierModel : public testing::TestWithParam<CarelessBarrier> {};

TEST_P(CarelessBarrierModel, IsFoundOut) {
  const Verdict verdict = explore(BarrierModel(GetParam().mutant));
  std::cout << verdict << '\n';
  EXPECT_TRUE(verdict.outcome == Outcome::violation || verdict.outcome == Outcome::wrong_end) << verdict;
}

INSTANTIATE_TEST_SUITE_P(Mutants, CarelessBarrierModel,
                         testing::Values(CarelessBarrier{"RemoveWithoutCompleting", Mutant::remove_without_completing},
                                         CarelessBarrier{"RemoveLeavesArrived", Mutant::remove_leaves_arrived},
                                         CarelessBarrier{"SuccessorKeepsNote", Mutant::successor_keeps_note},
                                         CarelessBarrier{"EntersAnyNote", Mutant::enters_any_note}),
                         [](const auto& of) { return of.param.name; });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::model
