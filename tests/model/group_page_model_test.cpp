// The group page's protocol, explored exhaustively: two or three members go through a few sets of a page that has room
// for one or two, one of them may leave out a set (its camera lost the frame), and one may die at any step; the
// supervisor removes who died or is through, and may bring a successor in. For each way to deal with who is missing.
// Shows that
//  - a set is decided once, and all members that arrived at it in time act on that one decision,
//  - it is decided without a member only where that one is gone, has gone past it, or the time is over,
//  - a newer set's word is never replaced by an older one's, and nobody waits for ever,
//  - no set is encoded once a member has acted on a newer one: who leaves out a set settles it first,
// and that the exploration would see it if it were otherwise: each careless variant of the protocol is found out.
//
// Steps are single accesses to shared memory, but for one: a waiter reads how far the other members are in one step.
// These only grow, and what it misses was followed by a change that wakes it. That the time is over may happen whenever
// a member waits; nobody's progress may hang on it.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <string>
#include <tuple>

#include "tests/model/explore.h"

namespace campipe::model {
namespace CAMPIPE_FILE {

constexpr int most_members = 3;
constexpr int most_sets = 4;
constexpr int most_words = 2;

struct Size {
  const char* name;
  int members;
  int sets;  // numbered from 1
  int words;
  std::uint8_t deaths;
  std::uint8_t holes;
};
// A death and a lost frame among three; sets that each take the place of the one before; and all of it among two.
constexpr Size sizes[] = {
    {"Death", 3, 2, 2, 1, 0}, {"Hole", 3, 2, 2, 0, 1}, {"Narrow", 3, 2, 1, 0, 0}, {"Long", 2, 4, 2, 1, 1}};

enum class OnMissing { repeat, drop, wait };

enum class Mutant {
  none,
  decides_without_comparing,  // over a decision that another one has made, or an arrival
  late_arrival_counts,        // at a set that is decided
  older_set_takes_its_place,  // from a newer one
  removal_wakes_nobody,
  arrival_wakes_nobody,
  looks_before_the_count,    // of changes: what comes between is missed
  notes_how_far_it_is_late,  // after it has woken the others
  expects_itself_alone,
  encodes_what_has_a_hole,  // although all is to be dropped then
  settles_nothing,          // of what it has left out
  settles_without_comparing,
};

enum class Decision : std::uint8_t { open, encode, drop };

struct Word {
  std::uint8_t set;  // 0: none yet
  Decision decision;
  std::uint8_t expected;
  std::uint8_t arrived;
  friend bool operator==(const Word&, const Word&) = default;
};

enum class Process : std::uint8_t { running, killed, removed };
enum class At : std::uint8_t {
  next,      // about to arrive at its set, or to leave it out
  load,      // has noted how far it is; about to read the word
  members,   // the set is new; about to read who is to come
  enter,     // about to put its arrival into the word
  arrived,   // about to count the change; the same for a late arrival
  count,     // about to read the count of changes
  look,      // likewise the word
  alive,     // likewise who is still a member
  reached,   // likewise how far the others are, and to judge
  decide,    // about to put its decision into the word
  decided,   // about to count the change
  asleep,    // until the count of changes is another one
  note,      // (a mutant) about to note how far it is
  settle,    // about to read the word of the set that it has left out
  settling,  // likewise who is still a member
  settled,   // likewise to put its decision there
};
enum class Result : std::uint8_t { none, encode, drop, late };

struct Member {
  Process process;
  At at;
  std::uint8_t set;
  Result result;
  Word seen;
  std::uint8_t seen_members;
  Decision decision;       // that it is about to make
  std::uint8_t timed_out;  // 1: its set has had its time
  std::uint8_t hole;       // the first set that it has left out, and not settled; 0: none
};

// What nobody can read: for the checks.
struct Truth {
  Decision decision;     // of a set, the first
  std::uint8_t arrived;  // when it was decided
};

class GroupPageModel {
 public:
  struct State {
    std::array<Word, most_words> words;
    std::array<std::uint8_t, most_words> steady;  // members that lived when a word's set began, and since
    std::uint8_t members;
    std::array<std::uint8_t, most_members> newest;  // the set that each has arrived at, or gone to
    std::uint8_t changed;                           // those for whom the count of changes is another one than they read
    std::uint8_t to_wake;                           // the supervisor has removed one and is to count it
    std::array<Member, most_members> of;
    std::array<std::uint8_t, most_members> acted;  // the newest set that each, or who was in its place, has acted on
    std::array<Truth, most_sets + 1> truth;
    std::uint8_t deaths_left;
    std::uint8_t holes_left;
    std::uint8_t wrong;  // why(): what a step did
  };

  GroupPageModel(const Size& size, OnMissing on_missing, Mutant mutant)
      : size_(size), on_missing_(on_missing), mutant_(mutant) {}

  State initial() const {
    State state{};
    for (int i = 0; i < most_members; ++i) {
      const bool there = i < size_.members;
      if (there) state.members |= bit(i);
      state.of[i].process = there ? Process::running : Process::removed;
      state.of[i].set = 1;
    }
    state.deaths_left = size_.deaths;
    state.holes_left = size_.holes;
    return state;
  }

  template <typename Emit>
  void each_step(const State& state, Emit&& emit) const {
    for (int i = 0; i < size_.members; ++i) {
      const Member& self = state.of[i];
      if (self.process == Process::running && self.set <= size_.sets) {
        if (self.at >= At::settle) {
          settle(state, i, emit);
        } else if (self.at <= At::arrived || self.at == At::note) {
          arrive(state, i, emit);
        } else {
          wait(state, i, emit);
        }
        if (state.deaths_left > 0) die(state, i, emit);
      }
      if (state.to_wake == 0) supervise(state, i, emit);
    }
    if (state.to_wake != 0) {
      State next = state;
      next.to_wake = 0;
      count_change(next);
      emit(Step{"supervisor", -1, "wakes all"}, next);
    }
  }

  const char* violation(const State& state) const { return why(state.wrong); }

  const char* wrong_end(const State& state) const {
    for (const Member& self : state.of) {
      if (self.process == Process::killed) return "a dead member was not removed";
      if (self.process == Process::running) return "a member waits for ever";
    }
    return nullptr;
  }

 private:
  enum Wrong : std::uint8_t { nothing, early, hole, twice, unlike, uncounted, older, passed };
  static const char* why(std::uint8_t wrong) {
    switch (wrong) {
      case early:
        return "a set was decided without a member that was still to come";
      case hole:
        return "a set with a hole was not dropped";
      case twice:
        return "a set was decided twice";
      case unlike:
        return "a member acts on another decision than the others";
      case uncounted:
        return "a member gives a frame to a set that was decided without it";
      case older:
        return "an older set took the place of a newer one";
      case passed:
        return "a set was encoded that a member had gone past";
      default:
        return nullptr;
    }
  }

  static constexpr std::uint8_t bit(int member) { return static_cast<std::uint8_t>(1 << member); }
  [[nodiscard]] int place(int set) const { return set % size_.words; }
  Word& word_of(State& state, int set) const { return state.words[place(set)]; }
  [[nodiscard]] const Word& word_of(const State& state, int set) const { return state.words[place(set)]; }
  void count_change(State& state) const { state.changed = static_cast<std::uint8_t>((1 << size_.members) - 1); }

  // Puts `after` into the word, as an atomic access, and checks it.
  void put(State& state, const Word& after, bool timed_out) const {
    Word& word = word_of(state, after.set);
    if (after.set < word.set) state.wrong = older;
    const bool begins = word.set != after.set;
    const Decision before = begins ? Decision::open : word.decision;
    word = after;
    Truth& truth = state.truth[after.set];
    if (before != Decision::open && (after.decision != before)) state.wrong = twice;
    if (after.decision == Decision::open || before != Decision::open) return;
    if (truth.decision != Decision::open) state.wrong = twice;
    truth = {after.decision, after.arrived};
    std::uint8_t missing = state.steady[place(after.set)] & ~after.arrived;
    if (on_missing_ == OnMissing::drop && missing != 0 && after.decision != Decision::drop) state.wrong = hole;
    for (int i = 0; i < size_.members; ++i) {
      if (state.newest[i] > after.set) missing &= ~bit(i);
    }
    if (missing != 0 && !timed_out) state.wrong = early;
    for (int i = 0; i < size_.members; ++i) {
      const bool has_passed = state.of[i].process == Process::running && state.acted[i] > after.set;
      if (has_passed && after.decision == Decision::encode && (after.arrived & bit(i)) == 0) state.wrong = passed;
    }
  }

  void end_set(State& state, int i, Result result) const {
    Member& self = state.of[i];
    const Truth& truth = state.truth[self.set];
    if (result == Result::encode || result == Result::drop) {
      const Decision decision = result == Result::encode ? Decision::encode : Decision::drop;
      if (truth.decision != decision) state.wrong = unlike;
      if ((truth.arrived & bit(i)) == 0) state.wrong = uncounted;
    }
    if (self.hole != 0 && mutant_ != Mutant::settles_nothing) {
      self = {Process::running, At::settle, self.set, {}, {}, 0, {}, 0, self.hole};
    } else {
      go_on(state, i);
    }
  }

  static void go_on(State& state, int i) {
    Member& self = state.of[i];
    state.acted[i] = self.set;
    self = {Process::running, At::next, static_cast<std::uint8_t>(self.set + 1), {}, {}, 0, {}, 0, 0};
  }

  // Who has left out a set closes it, or decides it as it is; then it acts on the one behind.
  template <typename Emit>
  void settle(const State& state, int i, Emit& emit) const {
    State next = state;
    Member& self = next.of[i];
    switch (self.at) {
      case At::settle:
        self.seen = word_of(state, self.hole);
        self.at = At::settling;
        if (self.seen.set > self.hole || (self.seen.set == self.hole && self.seen.decision != Decision::open))
          settle_next(next, i);
        emit(Step{"member", i, "reads what it has left out, set", state.of[i].hole}, next);
        return;
      case At::settling:
        self.seen_members = state.members;
        self.at = At::settled;
        emit(Step{"member", i, "reads who is still a member"}, next);
        return;
      default:
        put_settled(next, i);
        emit(Step{"member", i, "settles set", state.of[i].hole}, next);
    }
  }

  void put_settled(State& next, int i) const {
    Member& self = next.of[i];
    if (word_of(next, self.hole) != self.seen && mutant_ != Mutant::settles_without_comparing) {
      forget(self);
      self.at = At::settle;
      return;
    }
    Word after = self.seen;
    if (after.set != self.hole) {
      after = {self.hole, Decision::open, bit(i), 0};
      next.steady[place(self.hole)] = 0;
    }
    const bool lacks = (after.expected & ~after.arrived & self.seen_members) != 0;
    const bool drops = after.arrived == 0 || (on_missing_ == OnMissing::drop && lacks);
    after.decision = drops ? Decision::drop : Decision::encode;
    put(next, after, true);
    count_change(next);
    settle_next(next, i);
  }

  static void settle_next(State& next, int i) {
    Member& self = next.of[i];
    next.acted[i] = self.hole;
    ++self.hole;
    if (self.hole == self.set) return go_on(next, i);
    forget(self);
    self.at = At::settle;
  }

  // What it has read and needs no more would only make states differ.
  static void forget(Member& self) {
    self.seen = {};
    self.seen_members = 0;
    self.decision = Decision::open;
  }

  static Result result_of(const Word& word, int i) {
    if ((word.arrived & bit(i)) == 0) return Result::late;
    return word.decision == Decision::encode ? Result::encode : Result::drop;
  }

  template <typename Emit>
  void arrive(const State& state, int i, Emit& emit) const {
    State next = state;
    Member& self = next.of[i];
    switch (self.at) {
      case At::next:
        self.at = At::load;
        if (mutant_ != Mutant::notes_how_far_it_is_late) next.newest[i] = self.set;
        emit(Step{"member", i, "comes to set", self.set}, next);
        if (state.holes_left == 0) return;
        next = state;
        --next.holes_left;
        if (state.of[i].hole == 0) next.of[i].hole = state.of[i].set;
        ++next.of[i].set;
        emit(Step{"member", i, "has no frame for set", state.of[i].set, true}, next);
        return;
      case At::load:
        self.seen = word_of(state, self.set);
        self.at = load_result(self, i);
        emit(Step{"member", i, "reads the word of set", self.set}, next);
        return;
      case At::members:
        self.seen_members = state.members;
        self.at = At::enter;
        emit(Step{"member", i, "reads who is to come to set", self.set}, next);
        return;
      case At::enter:
        enter(next, i);
        emit(Step{"member", i, "puts itself into set", self.set}, next);
        return;
      case At::arrived:
        if (mutant_ != Mutant::arrival_wakes_nobody) count_change(next);
        if (mutant_ == Mutant::notes_how_far_it_is_late) {
          self.at = At::note;
        } else {
          after_arrival(next, i);
        }
        emit(Step{"member", i, "wakes all"}, next);
        return;
      default:
        next.newest[i] = self.set;
        after_arrival(next, i);
        emit(Step{"member", i, "notes that it is at set", state.of[i].set}, next);
    }
  }

  // Counting its own change and reading the count are one step: a change by another in between makes no difference.
  void after_arrival(State& next, int i) const {
    if (next.of[i].result != Result::none) {
      end_set(next, i, next.of[i].result);
    } else {
      next.of[i].at = mutant_ == Mutant::looks_before_the_count ? At::asleep : At::look;
      next.changed &= static_cast<std::uint8_t>(~bit(i));
    }
  }

  [[nodiscard]] At load_result(Member& self, int i) const {
    if (self.seen.set > self.set && mutant_ != Mutant::older_set_takes_its_place) {
      self.result = Result::late;
      forget(self);
      return At::arrived;
    }
    if (self.seen.set != self.set) return At::members;
    if (self.seen.decision == Decision::open || mutant_ == Mutant::late_arrival_counts) return At::enter;
    self.result = result_of(self.seen, i);
    forget(self);
    return At::arrived;
  }

  void enter(State& next, int i) const {
    Member& self = next.of[i];
    const Word before = word_of(next, self.set);
    if (before != self.seen) {
      forget(self);
      self.at = At::load;
      return;
    }
    Word after = before;
    if (before.set != self.set) {
      after = {self.set, Decision::open, static_cast<std::uint8_t>(self.seen_members | bit(i)), 0};
      if (mutant_ == Mutant::expects_itself_alone) after.expected = bit(i);
      std::uint8_t steady = 0;
      for (int k = 0; k < size_.members; ++k) {
        if (next.of[k].process == Process::running) steady |= self.seen_members & bit(k);
      }
      next.steady[place(self.set)] = steady;
    }
    after.expected |= bit(i);
    after.arrived |= bit(i);
    if ((after.expected & ~after.arrived) == 0 && after.decision == Decision::open) after.decision = Decision::encode;
    put(next, after, false);
    if (after.decision != Decision::open) self.result = result_of(after, i);
    forget(self);
    self.at = At::arrived;
  }

  template <typename Emit>
  void wait(const State& state, int i, Emit& emit) const {
    State next = state;
    Member& self = next.of[i];
    switch (self.at) {
      case At::count:
        next.changed &= ~bit(i);
        self.at = mutant_ == Mutant::looks_before_the_count ? At::asleep : At::look;
        emit(Step{"member", i, "reads the count of changes"}, next);
        return;
      case At::look:
        self.seen = word_of(state, self.set);
        self.at = At::alive;
        if (self.seen.set != self.set) {
          end_set(next, i, Result::late);
        } else if (self.seen.decision != Decision::open) {
          end_set(next, i, result_of(self.seen, i));
        }
        emit(Step{"member", i, "looks at set", state.of[i].set}, next);
        return;
      case At::alive:
        self.seen_members = state.members;
        self.at = At::reached;
        emit(Step{"member", i, "reads who is still a member"}, next);
        return;
      case At::reached:
        judge(next, i);
        emit(Step{"member", i, "reads how far the others are"}, next);
        return;
      case At::decide:
        decide(next, i);
        emit(Step{"member", i, "decides about set", state.of[i].set}, next);
        return;
      case At::decided:
        count_change(next);
        end_set(next, i, result_of(self.seen, i));
        emit(Step{"member", i, "wakes all, having decided set", state.of[i].set}, next);
        return;
      default:
        sleep(state, i, emit);
    }
  }

  void judge(State& next, int i) const {
    Member& self = next.of[i];
    const std::uint8_t absent = self.seen.expected & ~self.seen.arrived & self.seen_members;
    std::uint8_t coming = absent;
    for (int k = 0; k < size_.members; ++k) {
      if (next.newest[k] > self.set) coming &= ~bit(k);
    }
    if (coming != 0 && self.timed_out == 0) {
      forget(self);
      self.at = mutant_ == Mutant::looks_before_the_count ? At::count : At::asleep;
      return;
    }
    const bool drops = on_missing_ == OnMissing::drop && mutant_ != Mutant::encodes_what_has_a_hole;
    self.decision = absent != 0 && drops ? Decision::drop : Decision::encode;
    self.seen_members = 0;
    self.at = At::decide;
  }

  void decide(State& next, int i) const {
    Member& self = next.of[i];
    const bool unchanged = word_of(next, self.set) == self.seen;
    if (!unchanged && mutant_ != Mutant::decides_without_comparing) {
      forget(self);
      self.at = At::count;
      return;
    }
    self.seen.decision = self.decision;
    put(next, self.seen, self.timed_out != 0);
    self.at = At::decided;
  }

  template <typename Emit>
  void sleep(const State& state, int i, Emit& emit) const {
    const At again = mutant_ == Mutant::looks_before_the_count ? At::look : At::count;
    State next = state;
    if ((state.changed & bit(i)) != 0) {
      next.of[i].at = again;
      emit(Step{"member", i, "wakes up"}, next);
    }
    if (on_missing_ == OnMissing::wait || state.of[i].timed_out != 0) return;
    next = state;
    next.of[i].at = again;
    next.of[i].timed_out = 1;
    emit(Step{"member", i, "finds that the time is over for set", state.of[i].set, true}, next);
  }

  template <typename Emit>
  static void die(const State& state, int i, Emit& emit) {
    State next = state;
    next.of[i] = {Process::killed, At::next, state.of[i].set, {}, {}, 0, {}, 0, 0};
    for (std::uint8_t& steady : next.steady) steady &= ~bit(i);
    --next.deaths_left;
    emit(Step{"member", i, "is killed", -1, true}, next);
  }

  // Who died, and who has come to the end, is removed. A successor of a dead one may come, or may not.
  template <typename Emit>
  void supervise(const State& state, int i, Emit& emit) const {
    const Member& self = state.of[i];
    const bool through = self.process == Process::running && self.set > size_.sets;
    State next = state;
    if (self.process == Process::killed || through) {
      next.members &= ~bit(i);
      next.of[i].process = Process::removed;
      for (std::uint8_t& steady : next.steady) steady &= ~bit(i);
      if (mutant_ != Mutant::removal_wakes_nobody) next.to_wake = 1;
      emit(Step{"supervisor", -1, "removes member", i}, next);
    } else if (self.process == Process::removed && self.set <= size_.sets) {
      next.members |= bit(i);
      // What those before it have come to, and not acted on, it has left out.
      const auto unsettled = static_cast<std::uint8_t>(state.acted[i] < state.newest[i] ? state.acted[i] + 1 : 0);
      next.of[i] = {Process::running, At::next, static_cast<std::uint8_t>(state.newest[i] + 1), {}, {}, 0, {}, 0,
                    unsettled};
      emit(Step{"supervisor", -1, "adds and starts member", i, true}, next);
    }
  }

  Size size_;
  OnMissing on_missing_;
  Mutant mutant_;
};

std::string name_of(OnMissing on_missing) {
  return on_missing == OnMissing::repeat ? "Repeat" : on_missing == OnMissing::drop ? "Drop" : "Wait";
}

class GroupPageHolds : public testing::TestWithParam<std::tuple<Size, OnMissing>> {};

TEST_P(GroupPageHolds, AllActAlikeAndNobodyWaitsForEver) {
  const auto& [size, on_missing] = GetParam();
  const Verdict verdict = explore(GroupPageModel(size, on_missing, Mutant::none));
  std::cout << verdict << '\n';
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

INSTANTIATE_TEST_SUITE_P(Of, GroupPageHolds,
                         testing::Combine(testing::ValuesIn(sizes),
                                          testing::Values(OnMissing::repeat, OnMissing::drop, OnMissing::wait)),
                         [](const auto& of) { return std::get<0>(of.param).name + name_of(std::get<1>(of.param)); });

struct Careless {
  const char* name;
  OnMissing on_missing;
  Mutant mutant;
  friend std::ostream& operator<<(std::ostream& out, const Careless& of) { return out << of.name; }
};

class CarelessGroupPage : public testing::TestWithParam<Careless> {};

TEST_P(CarelessGroupPage, IsFoundOut) {
  bool found = false;
  for (const Size& size : sizes) {
    const Verdict verdict = explore(GroupPageModel(size, GetParam().on_missing, GetParam().mutant));
    found = verdict.outcome == Outcome::violation || verdict.outcome == Outcome::wrong_end;
    if (!found) continue;
    std::cout << size.name << ": " << verdict << '\n';
    break;
  }
  EXPECT_TRUE(found);
}

INSTANTIATE_TEST_SUITE_P(
    Mutants, CarelessGroupPage,
    testing::Values(Careless{"DecidesWithoutComparing", OnMissing::drop, Mutant::decides_without_comparing},
                    Careless{"LateArrivalCounts", OnMissing::repeat, Mutant::late_arrival_counts},
                    Careless{"OlderSetTakesItsPlace", OnMissing::repeat, Mutant::older_set_takes_its_place},
                    Careless{"RemovalWakesNobody", OnMissing::wait, Mutant::removal_wakes_nobody},
                    Careless{"ArrivalWakesNobody", OnMissing::wait, Mutant::arrival_wakes_nobody},
                    Careless{"LooksBeforeTheCount", OnMissing::wait, Mutant::looks_before_the_count},
                    Careless{"NotesHowFarItIsLate", OnMissing::wait, Mutant::notes_how_far_it_is_late},
                    Careless{"ExpectsItselfAlone", OnMissing::repeat, Mutant::expects_itself_alone},
                    Careless{"EncodesWhatHasAHole", OnMissing::drop, Mutant::encodes_what_has_a_hole},
                    Careless{"SettlesNothing", OnMissing::repeat, Mutant::settles_nothing},
                    Careless{"SettlesWithoutComparing", OnMissing::repeat, Mutant::settles_without_comparing}),
    [](const auto& of) { return of.param.name; });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::model
