// The barrier's protocol, explored exhaustively: three participants meet in three phases, two of them may die at any
// step, and the supervisor takes each dead one out and brings a successor in. Shows that
//  - no phase passes that a living participant has yet to arrive at,
//  - nobody waits for ever, and the word is left clean,
// and that the exploration would see it if it were otherwise: each careless variant of the protocol is found out.
//
// One atomic word {phase, expected, arrived}. Steps are single accesses to it; what happens between them is local.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>

#include "tests/model/explore.h"

namespace campipe::model {
namespace {

constexpr int participant_count = 3;
constexpr int phase_count = 3;
constexpr std::uint8_t everyone = (1 << participant_count) - 1;

enum class Mutant {
  none,
  remove_without_completing,  // the others wait for ever for the one who was the last missing
  remove_leaves_arrived,      // the dead one's arrival counts for its successor, or for nobody
  add_tells_stale_phase,      // the successor is told a phase that was read before its bit was set
  completes_in_two_stores,    // phase and arrived do not change together
};

struct Word {
  std::uint8_t phase;
  std::uint8_t expected;
  std::uint8_t arrived;
  friend bool operator==(const Word&, const Word&) = default;
};

enum class Process : std::uint8_t { running, killed, removed };
enum class At : std::uint8_t {
  load,              // about to look at the word
  exchange,          // about to compare-exchange what it saw
  complete_phase,    // mutant: about to store the next phase
  complete_arrived,  // mutant: about to store that nobody has arrived
  wait,              // has arrived; waits for the phase to pass
};
struct Participant {
  Process process;
  At at;
  std::uint8_t phase;  // it is about to arrive at, or waits in; phase_count: it has been through all
  Word seen;
};

enum class Task : std::uint8_t { none, remove, add };
struct Supervisor {
  Task task;
  std::uint8_t of;          // the participant it is about
  std::uint8_t told_phase;  // mutant: what it will tell the successor
  Word seen;
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
      if (self.process != Process::running && state.supervisor.task == Task::none) take_up(state, i, emit);
    }
    supervise(state, emit);
  }

  const char* violation(const State& state) const {
    for (const Participant& self : state.participants) {
      const bool yet_to_arrive = self.at == At::load || self.at == At::exchange;
      if (self.process == Process::running && yet_to_arrive && self.phase < state.word.phase) {
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
  void arrive(const State& state, int i, Emit& emit) const {
    const Participant& self = state.participants[i];
    State next = state;
    Participant& then = next.participants[i];
    switch (self.at) {
      case At::load:
        if (state.word.phase > self.phase) {
          then.phase++;
          emit(Step{"participant", i, "sees that the phase has passed:", self.phase}, next);
        } else {
          then.at = At::exchange;
          then.seen = state.word;
          emit(Step{"participant", i, "loads the word to arrive at phase", self.phase}, next);
        }
        break;
      case At::exchange:
        then.seen = {};
        if (state.word != self.seen) {
          then.at = At::load;
          emit(Step{"participant", i, "finds the word changed"}, next);
        } else {
          then.at = add_arrival(next.word, i) ? At::complete_phase : At::wait;
          emit(Step{"participant", i, "arrives at phase", self.phase}, next);
        }
        break;
      case At::complete_phase:
        next.word.phase++;
        then.at = At::complete_arrived;
        emit(Step{"participant", i, "stores the phase that follows", self.phase}, next);
        break;
      case At::complete_arrived:
        next.word.arrived = 0;
        then.at = At::wait;
        emit(Step{"participant", i, "stores that nobody has arrived"}, next);
        break;
      case At::wait:
        if (state.word.phase <= self.phase) break;
        then.at = At::load;
        then.phase++;
        emit(Step{"participant", i, "passes phase", self.phase}, next);
        break;
    }
  }

  // Does what an arrival does to the word; true if completing the phase is left to later stores (the mutant).
  bool add_arrival(Word& word, int i) const {
    word.arrived |= bit(i);
    if (word.arrived != word.expected) return false;
    if (mutant_ == Mutant::completes_in_two_stores) return true;
    word = completed(word);
    return false;
  }

  template <typename Emit>
  static void die(const State& state, int i, Emit& emit) {
    State next = state;
    next.participants[i] = {Process::killed, At::load, 0, {}};
    next.deaths_left--;
    emit(Step{"participant", i, "is killed", -1, true}, next);
  }

  // The supervisor, one thread, takes up one participant at a time: takes a dead one out, then brings a successor
  // in, or never does (a camera may be set aside), which must hold up nobody.
  template <typename Emit>
  void take_up(const State& state, int i, Emit& emit) const {
    const bool is_in = state.participants[i].process == Process::killed;
    State next = state;
    next.supervisor = {is_in ? Task::remove : Task::add, static_cast<std::uint8_t>(i), 0, state.word};
    if (!is_in && mutant_ == Mutant::add_tells_stale_phase) next.supervisor.told_phase = state.word.phase;
    emit(Step{"supervisor", -1, is_in ? "loads the word to remove participant" : "loads the word to add participant", i,
              !is_in},
         next);
  }

  template <typename Emit>
  void supervise(const State& state, Emit& emit) const {
    const Supervisor& self = state.supervisor;
    if (self.task == Task::none) return;
    State next = state;
    if (state.word != self.seen) {
      next.supervisor.seen = state.word;
      emit(Step{"supervisor", -1, "finds the word changed"}, next);
      return;
    }
    next.supervisor = {};
    if (self.task == Task::remove) {
      next.word = without(state.word, self.of);
      next.participants[self.of].process = Process::removed;
      emit(Step{"supervisor", -1, "removes participant", self.of}, next);
    } else {
      const bool stale = mutant_ == Mutant::add_tells_stale_phase;
      next.word.expected |= bit(self.of);
      next.participants[self.of] = {Process::running, At::load, stale ? self.told_phase : state.word.phase, {}};
      emit(Step{"supervisor", -1, "adds and starts participant", self.of}, next);
    }
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
                                         CarelessBarrier{"AddTellsStalePhase", Mutant::add_tells_stale_phase},
                                         CarelessBarrier{"CompletesInTwoStores", Mutant::completes_in_two_stores}),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace campipe::model
