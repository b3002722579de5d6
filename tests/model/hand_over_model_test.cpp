// A move of a node's work (ipc/hand_over.h), explored exhaustively: a source publishes frames to the old and to the new
// node, which both may be killed at any step; the old one hears of the move at any step, or never; the writer takes
// frames back from their queues; the supervisor cancels at any step, decides for a dead old node, and names the number
// of packets at which the new one goes on. Shows that
//  - no frame is encoded by both, and none by a node that does not own it,
//  - without a death none is lost, whether the move is committed or cancelled, and what is taken back is counted once,
//  - no packet's number is used twice,
//  - nobody waits for ever, and the supervisor's sum is right,
// and that the exploration would see it if it were otherwise: each careless variant of the protocol is found out.
//
// Steps are single accesses to shared words; what happens between is local.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iostream>

#include "tests/model/explore.h"

namespace campipe::model {
namespace CAMPIPE_FILE {

constexpr int frames = 4;

enum class Mutant {
  none,
  old_stores_passed_late,      // after its work: a death in between, and the frame is encoded again
  old_commits_with_a_store,    // it was cancelled meanwhile: both give the rest up
  old_commits_before_ready,    // at a frame that the new one has dropped
  old_goes_on_after_commit,    // with the frame in its hands
  supervisor_cancels_blindly,  // it was committed meanwhile: nobody goes on
  supervisor_forgets_ready,    // decides for a dead old node at frames that the new one has dropped
  supervisor_at_passed,        // likewise at the frame that the old one may have encoded
  supervisor_at_newest,        // likewise behind what is published: what the new one has is given up
  supervisor_at_proposed,      // likewise although the new one is not ready
  supervisor_without_passed,   // likewise although the old one may have encoded frames before it knew of the move
  base_at_commit,              // before the old node's packets are all there
  new_does_not_wait,           // takes what is undecided for the old one's
  new_takes_undecided,         // or for its own
  new_forgets_cancelled,       // waits for ever
  counts_all_taken_back,       // also frames that a node had in its queue and not to do
};

enum class Word : std::uint8_t { proposed, ready, committed, cancelled };
enum class Process : std::uint8_t { running, killed };
enum class OldAt : std::uint8_t { idle, decide, commit, pass, work, late_pass, ending, over, done };
enum class NewAt : std::uint8_t { detached, idle, look, look_at_passed, own, ready, over, done };
enum class SupervisorAt : std::uint8_t { idle, cancel, look_for_dead, decide_for_dead };

std::uint8_t bit(int frame) { return static_cast<std::uint8_t>(1 << frame); }
std::uint8_t below(int frame) { return static_cast<std::uint8_t>((1 << frame) - 2); }  // frames 1 … frame - 1
std::uint8_t narrow(int number) { return static_cast<std::uint8_t>(number); }
constexpr std::uint8_t all = (1 << (frames + 1)) - 2;

// Sets of frames are bits.
struct Node {
  Process process;
  std::uint8_t hand;     // the frame that it has taken; 0: none
  std::uint8_t pending;  // in its queue
  std::uint8_t meant;    // published for it
  std::uint8_t recalled;
  std::uint8_t taken;
  std::uint8_t inside;  // its encoder
  std::uint8_t out;     // encoded: packets in memory of its own, or in the ring
};

class HandOverModel {
 public:
  struct State {
    // In shared memory.
    Word word;
    std::uint8_t at;  // the frame of the word
    std::uint8_t passed;
    std::uint8_t ready_from;
    std::uint8_t head;
    Node old_node;
    Node new_node;
    OldAt old_at;
    NewAt new_at;
    Word old_seen;
    std::uint8_t old_seen_at;
    Word new_seen;
    std::uint8_t new_seen_at;
    std::uint8_t old_knows;  // of the move: it has the page
    std::uint8_t dropped;    // by the new node, uncounted
    SupervisorAt supervisor;
    Word seen;
    std::uint8_t seen_at;
    std::uint8_t seen_passed;
    std::uint8_t for_dead;  // it has decided for the old node
    std::uint8_t base;      // packets, plus 1; 0: not named yet
    std::uint8_t deaths_left;
    std::uint8_t recalls_left;
    std::uint8_t cancels_left;
  };

  explicit HandOverModel(Mutant mutant) : mutant_(mutant) {}

  static State initial() {
    State state{};
    state.deaths_left = 2;
    state.recalls_left = 1;
    state.cancels_left = 1;
    return state;
  }

  template <typename Emit>
  void each_step(const State& state, Emit&& emit) const {
    publish(state, emit);
    if (state.old_node.process == Process::running) old_node(state, emit);
    if (state.new_node.process == Process::running) new_node(state, emit);
    supervise(state, emit);
  }

  const char* violation(const State& state) const {
    const Node& before = state.old_node;
    const Node& after = state.new_node;
    if (((before.out | before.inside) & (after.out | after.inside)) != 0) return "a frame is encoded by both";
    if (state.base != 0 && before.process == Process::running && state.base - 1 != std::popcount(before.out))
      return "the old node has packets that were not there when the new one's number was named";
    if (state.word != Word::committed) {
      return (after.out | after.inside) != 0 ? "the new node encodes before it is to" : nullptr;
    }
    if (((before.out | before.inside) & ~below(state.at)) != 0)
      return "the old node has encoded a frame of the new one";
    if (((after.out | after.inside) & below(state.at)) != 0) return "the new node has encoded a frame of the old one";
    if ((state.dropped & ~below(state.at)) != 0) return "the new node has dropped a frame of its own";
    if (state.for_dead != 0 && state.at > std::max(state.passed + 1, int{state.ready_from}))
      return "frames are given up that nobody has had";
    return nullptr;
  }

  const char* wrong_end(const State& state) const {
    const Node& before = state.old_node;
    const Node& after = state.new_node;
    const bool committed = state.word == Word::committed;
    if (before.process == Process::running && state.old_at != OldAt::done) return "the old node waits for ever";
    if (after.process == Process::running && state.new_at != NewAt::done) return "the new node waits for ever";
    if (state.word == Word::proposed || state.word == Word::ready) return "the move was never decided";
    if (committed && state.base == 0) return "nobody has named the new node's number";
    // What the supervisor adds up: frames below the boundary by the old node, and the others by the new one.
    const std::uint8_t of_old = committed ? below(state.at) : before.meant;
    const std::uint8_t of_new = committed ? narrow(after.meant & ~below(state.at)) : std::uint8_t{0};
    const bool goes_on = committed && after.process == Process::running;
    if (goes_on && narrow(of_old | of_new) != all) return "a frame was meant for nobody";
    const int back = recalled_of(before, of_old) + recalled_of(after, of_new);
    const int encoded = std::popcount(before.out) + std::popcount(after.out);
    const int lost = std::popcount(narrow(of_old | of_new)) - back - encoded;
    if (lost < 0) return "more frames are accounted for than came";
    const bool no_death = state.deaths_left == 2;
    if (no_death && lost > 0) return "a frame is lost";
    if (no_death && encoded + back != frames) return "a frame is missing in the sum";
    return nullptr;
  }

 private:
  bool is(Mutant mutant) const { return mutant_ == mutant; }

  int recalled_of(const Node& node, std::uint8_t own) const {
    return is(Mutant::counts_all_taken_back) ? std::popcount(node.recalled)
                                             : std::popcount(own) - std::popcount(narrow(node.taken & own)) -
                                                   std::popcount(narrow(node.pending & own));
  }

  // ---- The source, with a queue for each node

  static bool reads(const State& state, const Node& node) {
    if (node.process != Process::running) return false;
    return &node == &state.old_node ? state.old_at < OldAt::over : state.new_at != NewAt::detached;
  }

  template <typename Emit>
  void publish(const State& state, Emit& emit) const {
    if (state.head < frames) {
      State next = state;
      ++next.head;
      if (reads(state, state.old_node)) give(next.old_node, next.head);
      if (reads(state, state.new_node)) give(next.new_node, next.head);
      emit(Step{"writer", -1, "publishes frame", next.head}, next);
    }
    if (state.recalls_left == 0) return;
    if (state.old_node.pending != 0) take_back(state, &State::old_node, "takes back from the old node frame", emit);
    if (state.new_node.pending != 0) take_back(state, &State::new_node, "takes back from the new node frame", emit);
  }

  static void give(Node& node, int frame) {
    node.pending |= bit(frame);
    node.meant |= bit(frame);
  }

  template <typename Emit>
  static void take_back(const State& state, Node State::*node, const char* what, Emit& emit) {
    State next = state;
    const int frame = std::countr_zero((state.*node).pending);
    (next.*node).pending &= static_cast<std::uint8_t>(~bit(frame));
    (next.*node).recalled |= bit(frame);
    --next.recalls_left;
    emit(Step{"writer", -1, what, frame, true}, next);
  }

  static int take(Node& node) {
    const int frame = std::countr_zero(node.pending);
    node.pending &= static_cast<std::uint8_t>(~bit(frame));
    node.taken |= bit(frame);
    node.hand = narrow(frame);
    return frame;
  }

  // ---- The old node

  template <typename Emit>
  void old_node(const State& state, Emit& emit) const {
    if (state.deaths_left > 0 && state.old_at != OldAt::done) {
      State next = state;
      next.old_node.process = Process::killed;
      next.old_node.inside = 0;
      --next.deaths_left;
      emit(Step{"old node", -1, "is killed", -1, true}, next);
    }
    State next = state;
    if (state.old_knows == 0 && (state.old_at == OldAt::idle || state.old_at == OldAt::ending)) {
      next.old_knows = 1;
      emit(Step{"old node", -1, "hears of the move"}, next);
      next.old_knows = 0;
    }
    Node& self = next.old_node;
    const int hand = state.old_node.hand;
    switch (state.old_at) {
      case OldAt::idle:
        if (state.old_node.pending != 0) {
          const int frame = take(self);
          next.old_at = state.old_knows != 0 ? OldAt::decide : OldAt::work;
          return emit(Step{"old node", -1, "takes frame", frame}, next);
        }
        if (state.head < frames) return;
        next.old_at = OldAt::ending;
        return emit(Step{"old node", -1, "is at the end"}, next);
      case OldAt::decide: {
        next.old_seen = state.word;
        next.old_seen_at = state.at;
        next.old_at = is(Mutant::old_stores_passed_late) ? OldAt::work : OldAt::pass;
        emit(Step{"old node", -1, "goes on with frame", hand}, next);
        const bool may = state.word == Word::ready && (hand >= state.at || is(Mutant::old_commits_before_ready));
        next.old_at = OldAt::commit;
        if (may) emit(Step{"old node", -1, "is about to commit at frame", hand, true}, next);
        return;
      }
      case OldAt::commit: {
        const bool same = state.word == state.old_seen && state.at == state.old_seen_at;
        if (same || is(Mutant::old_commits_with_a_store)) {
          next.word = Word::committed;
          next.at = narrow(hand);
          self.taken &= static_cast<std::uint8_t>(~bit(hand));
          self.pending = 0;
          next.old_at = is(Mutant::old_goes_on_after_commit) ? OldAt::work : OldAt::over;
          return emit(Step{"old node", -1, "commits at frame", hand}, next);
        }
        next.old_at = OldAt::pass;
        return emit(Step{"old node", -1, "cannot commit at frame", hand}, next);
      }
      case OldAt::pass:
      case OldAt::late_pass:
        next.passed = narrow(hand);
        next.old_at = state.old_at == OldAt::pass ? OldAt::work : OldAt::idle;
        return emit(Step{"old node", -1, "passes frame", hand}, next);
      case OldAt::work:
        // What comes out at once, and what stays inside, until the next one or the end.
        self.out |= state.old_node.inside;
        self.inside = bit(hand);
        next.old_at = is(Mutant::old_stores_passed_late) && state.old_knows != 0 ? OldAt::late_pass : OldAt::idle;
        emit(Step{"old node", -1, "has in its encoder frame", hand}, next);
        self.out |= self.inside;
        self.inside = 0;
        return emit(Step{"old node", -1, "encodes frame", hand}, next);
      case OldAt::ending:
        next.old_at = OldAt::over;
        if (state.old_knows == 0) return emit(Step{"old node", -1, "ends, and knows of no move"}, next);
        if (state.word == Word::proposed || state.word == Word::ready) next.word = Word::cancelled, next.at = 0;
        return emit(Step{"old node", -1, "cancels, unless that is decided"}, next);
      case OldAt::over:
        self.out |= state.old_node.inside;
        self.inside = 0;
        next.old_at = OldAt::done;
        return emit(Step{"old node", -1, "is done"}, next);
      case OldAt::done:
        return;
    }
  }

  // ---- The new node

  template <typename Emit>
  void new_node(const State& state, Emit& emit) const {
    if (state.deaths_left > 0 && state.new_at != NewAt::done) {
      State next = state;
      next.new_node.process = Process::killed;
      next.new_node.inside = 0;
      --next.deaths_left;
      emit(Step{"new node", -1, "is killed", -1, true}, next);
    }
    State next = state;
    Node& self = next.new_node;
    const int hand = state.new_node.hand;
    switch (state.new_at) {
      case NewAt::detached:
        next.new_at = NewAt::idle;
        return emit(Step{"new node", -1, "attaches"}, next);
      case NewAt::idle:
        return take_next(state, emit);
      case NewAt::look:
        next.new_seen = state.word;
        next.new_seen_at = state.at;
        if (state.word == Word::ready && hand >= state.at) {
          next.new_at = NewAt::look_at_passed;
          if (is(Mutant::new_does_not_wait)) drop(next);
          if (is(Mutant::new_takes_undecided)) next.new_at = NewAt::own;
        } else if (state.word == Word::committed && hand >= state.at) {
          next.new_at = NewAt::own;
        } else {
          drop(next);
          if (state.word == Word::proposed) next.new_at = NewAt::ready;
        }
        return emit(Step{"new node", -1, "looks whose is frame", hand}, next);
      case NewAt::look_at_passed:
        if (state.passed >= hand) {
          drop(next);
          return emit(Step{"new node", -1, "sees as passed frame", hand}, next);
        }
        if (state.word == state.new_seen && state.at == state.new_seen_at) return;  // it waits
        if (is(Mutant::new_forgets_cancelled) && state.word == Word::cancelled) return;
        next.new_at = NewAt::look;
        return emit(Step{"new node", -1, "looks again"}, next);
      case NewAt::ready:
        next.new_at = NewAt::idle;
        emit(Step{"new node", -1, "is not warm yet"}, next);
        if (state.word == Word::proposed) next.word = Word::ready, next.at = next.ready_from = narrow(hand + 1);
        return emit(Step{"new node", -1, "gets ready, unless that was cancelled", hand, true}, next);
      case NewAt::own:
        self.out |= bit(hand);
        self.hand = 0;
        next.new_at = NewAt::idle;
        return emit(Step{"new node", -1, "encodes frame", hand}, next);
      case NewAt::over:
        if (state.word == Word::committed && state.base == 0) return;  // it waits for its number
        next.new_at = NewAt::done;
        return emit(Step{"new node", -1, "is done"}, next);
      case NewAt::done:
        return;
    }
  }

  template <typename Emit>
  void take_next(const State& state, Emit& emit) const {
    State next = state;
    if (state.word == Word::cancelled) {
      next.new_node.pending = 0;
      next.new_at = NewAt::over;
      return emit(Step{"new node", -1, "sees that it is cancelled"}, next);
    }
    if (state.new_node.pending != 0) {
      const int frame = take(next.new_node);
      next.new_at = NewAt::look;
      return emit(Step{"new node", -1, "takes frame", frame}, next);
    }
    if (state.head < frames || state.word != Word::committed) return;  // until the old node has decided at its end
    next.new_at = NewAt::over;
    emit(Step{"new node", -1, "is at the end"}, next);
  }

  static void drop(State& state) {
    state.dropped |= bit(state.new_node.hand);
    state.new_at = NewAt::idle;
  }

  // ---- The supervisor

  template <typename Emit>
  void supervise(const State& state, Emit& emit) const {
    State next = state;
    switch (state.supervisor) {
      case SupervisorAt::idle:
        return begin(state, emit);
      case SupervisorAt::cancel: {
        const bool same = state.word == state.seen && state.at == state.seen_at;
        if (same || is(Mutant::supervisor_cancels_blindly)) next.word = Word::cancelled, next.at = 0;
        next.supervisor = same || is(Mutant::supervisor_cancels_blindly) ? SupervisorAt::idle : look_again(next);
        return emit(Step{"supervisor", -1, "cancels, unless that has changed"}, next);
      }
      case SupervisorAt::look_for_dead:
        next.seen_passed = state.passed;
        next.supervisor = SupervisorAt::decide_for_dead;
        return emit(Step{"supervisor", -1, "looks how far the dead old node was", state.passed}, next);
      case SupervisorAt::decide_for_dead:
        next.supervisor = SupervisorAt::idle;
        if (state.seen_passed == 0 && !is(Mutant::supervisor_without_passed)) {
          next.supervisor = SupervisorAt::cancel;
          return emit(Step{"supervisor", -1, "does not know how far the dead old node was"}, next);
        }
        if (state.word == state.seen && state.at == state.seen_at) {
          next.word = Word::committed;
          next.at = narrow(boundary_of(state));
          next.for_dead = 1;
        }
        return emit(Step{"supervisor", -1, "decides for the dead old node", next.at}, next);
    }
  }

  int boundary_of(const State& state) const {
    if (is(Mutant::supervisor_at_passed)) return std::max<int>(state.seen_passed, state.seen_at);
    if (is(Mutant::supervisor_at_newest)) return state.head + 1;
    if (is(Mutant::supervisor_forgets_ready)) return state.seen_passed + 1;
    return std::max<int>(state.seen_passed + 1, state.seen_at);
  }

  // Of a word that was decided there is nothing to cancel any more.
  static SupervisorAt look_again(State& state) {
    state.seen = state.word;
    state.seen_at = state.at;
    return state.word == Word::proposed || state.word == Word::ready ? SupervisorAt::cancel : SupervisorAt::idle;
  }

  template <typename Emit>
  void begin(const State& state, Emit& emit) const {
    const bool open = state.word == Word::proposed || state.word == Word::ready;
    const bool old_is_dead = state.old_node.process == Process::killed;
    const bool new_is_dead = state.new_node.process == Process::killed;
    State next = state;
    next.seen = state.word;
    next.seen_at = state.at;
    next.supervisor = SupervisorAt::cancel;
    if (open && state.cancels_left > 0) {
      --next.cancels_left;
      emit(Step{"supervisor", -1, "is about to cancel", -1, true}, next);
      next.cancels_left = state.cancels_left;
    }
    const bool old_is_done = !old_is_dead && state.old_at == OldAt::done;
    if (open && (new_is_dead || old_is_done))
      emit(Step{"supervisor", -1, "has lost the new node, or the old one is done"}, next);
    if (open && old_is_dead && !new_is_dead) {
      const bool decides = state.word == Word::ready || is(Mutant::supervisor_at_proposed);
      next.supervisor = decides ? SupervisorAt::look_for_dead : SupervisorAt::cancel;
      emit(Step{"supervisor", -1, "has lost the old node"}, next);
    }
    const bool over = old_is_dead || state.old_at == OldAt::done;
    if (state.word != Word::committed || state.base != 0 || (!over && !is(Mutant::base_at_commit))) return;
    next = state;
    next.base = narrow(std::popcount(state.old_node.out) + 1);
    emit(Step{"supervisor", -1, "names the number of packets", next.base - 1}, next);
  }

  Mutant mutant_;
};

TEST(HandOverModel, EachFrameIsOfOneNode) {
  const Verdict verdict = explore(HandOverModel(Mutant::none));
  std::cout << verdict << '\n';
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

struct CarelessHandOver {
  const char* name;
  Mutant mutant;
  friend std::ostream& operator<<(std::ostream& out, const CarelessHandOver& of) { return out << of.name; }
};

class CarelessHandOverModel : public testing::TestWithParam<CarelessHandOver> {};

TEST_P(CarelessHandOverModel, IsFoundOut) {
  const Verdict verdict = explore(HandOverModel(GetParam().mutant));
  std::cout << verdict << '\n';
  EXPECT_TRUE(verdict.outcome == Outcome::violation || verdict.outcome == Outcome::wrong_end) << verdict;
}

INSTANTIATE_TEST_SUITE_P(Mutants, CarelessHandOverModel,
                         testing::Values(CarelessHandOver{"OldStoresPassedLate", Mutant::old_stores_passed_late},
                                         CarelessHandOver{"OldCommitsWithAStore", Mutant::old_commits_with_a_store},
                                         CarelessHandOver{"OldCommitsBeforeReady", Mutant::old_commits_before_ready},
                                         CarelessHandOver{"OldGoesOnAfterCommit", Mutant::old_goes_on_after_commit},
                                         CarelessHandOver{"SupervisorCancelsBlindly",
                                                          Mutant::supervisor_cancels_blindly},
                                         CarelessHandOver{"SupervisorForgetsReady", Mutant::supervisor_forgets_ready},
                                         CarelessHandOver{"SupervisorAtPassed", Mutant::supervisor_at_passed},
                                         CarelessHandOver{"SupervisorAtNewest", Mutant::supervisor_at_newest},
                                         CarelessHandOver{"SupervisorAtProposed", Mutant::supervisor_at_proposed},
                                         CarelessHandOver{"SupervisorWithoutPassed", Mutant::supervisor_without_passed},
                                         CarelessHandOver{"BaseAtCommit", Mutant::base_at_commit},
                                         CarelessHandOver{"NewDoesNotWait", Mutant::new_does_not_wait},
                                         CarelessHandOver{"NewTakesUndecided", Mutant::new_takes_undecided},
                                         CarelessHandOver{"NewForgetsCancelled", Mutant::new_forgets_cancelled},
                                         CarelessHandOver{"CountsAllTakenBack", Mutant::counts_all_taken_back}),
                         [](const auto& of) { return of.param.name; });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::model
