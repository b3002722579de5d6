// What a frame ring records of a seat (FrameRingObserver::frames_of), explored exhaustively: the writer publishes
// frames to a reader, takes some back, and goes on with its successors; it may be killed at any step; the supervisor
// reads the record at any time, word by word. Shows that each reading is of one reader, and has the frames that it had
// been given when the reading began, or some that it was given meanwhile; and that the exploration would see it if it
// were otherwise: each careless variant is found out.
//
// The seat itself (who may sit down, and when) is in frame_ring_model_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>

#include "tests/model/explore.h"

namespace campipe::model {
namespace CAMPIPE_FILE {

constexpr int most_frames = 4;
constexpr int most_readers = 3;

enum class Mutant {
  none,
  tenure_in_a_word_of_its_own,  // what one reader was given is read as another's
  same_tenure,                  // likewise, when the seat has a successor
  words_of_two_readers,         // what was read is not compared
  takes_the_older_reader,       // half of whose frames are gone from the record
  frames_beyond_head,           // the writer died before anybody could see the frame
};

// A value, and whose it is.
struct Word {
  std::uint8_t tenure;
  std::uint8_t value;
};

enum class WriterAt : std::uint8_t { idle, first, recalled, tenure, last, head, killed };
enum class ReadingAt : std::uint8_t { none, head, last, first, recalled, tenure, done };

class SeatFramesModel {
 public:
  struct State {
    // In shared memory.
    std::uint8_t head;
    std::uint8_t tenure;  // mutant
    Word first;
    Word recalled;
    Word last;
    // The writer's own.
    WriterAt at;
    std::uint8_t publishes;  // what is being recorded: a frame, or a new reader
    std::uint8_t frames;     // published or on their way
    std::uint8_t own_tenure;
    std::uint8_t own_first;
    std::uint8_t own_last;
    std::uint8_t own_recalled;
    // The supervisor's reading.
    ReadingAt reading;
    std::uint8_t seen_head;
    std::uint8_t seen_tenure;
    Word seen_first;
    Word seen_recalled;
    Word seen_last;
    // What is true: of each reader, by its number from 1.
    std::uint8_t readers;
    std::array<std::uint8_t, most_readers + 1> given;           // frames that can be seen
    std::array<std::uint8_t, most_readers + 1> given_at_begin;  // of the reading
    std::array<std::uint8_t, most_readers + 1> taken_back;
    std::uint8_t wrong;  // in `faults`
  };

  explicit SeatFramesModel(Mutant mutant) : mutant_(mutant) {}

  State initial() const { return {}; }

  template <typename Emit>
  void each_step(const State& state, Emit&& emit) const {
    write(state, emit);
    read(state, emit);
    if (state.at == WriterAt::killed) return;
    State next = state;
    next.at = WriterAt::killed;
    emit(Step{"writer", -1, "is killed", -1, true}, next);
  }

  const char* violation(const State& state) const { return faults[state.wrong]; }
  const char* wrong_end(const State&) const { return nullptr; }

 private:
  static constexpr std::array<const char*, 4> faults{
      nullptr, "frames of another reader, or such as nobody can see, were counted",
      "frames that it had been given were not counted", "frames taken back from another reader were counted"};

  bool is(Mutant mutant) const { return mutant_ == mutant; }
  static std::uint8_t narrow(int number) { return static_cast<std::uint8_t>(number); }

  // ---- the writer

  template <typename Emit>
  void write(const State& state, Emit& emit) const {
    if (state.at == WriterAt::killed) return;
    if (state.at != WriterAt::idle) return record(state, emit);
    if (state.readers < most_readers) {
      State next = state;
      ++next.readers;
      if (!is(Mutant::same_tenure) || state.readers == 0) ++next.own_tenure;
      next.own_first = next.own_last = next.own_recalled = 0;
      next.publishes = 0;
      next.at = WriterAt::first;
      emit(Step{"writer", -1, "sees reader", next.readers, true}, next);
    }
    if (state.readers > 0 && state.frames < most_frames) {
      State next = state;
      ++next.frames;
      if (next.own_first == 0) next.own_first = next.frames;
      next.own_last = next.frames;
      next.publishes = 1;
      next.at = WriterAt::first;
      emit(Step{"writer", -1, "has frame", next.frames, true}, next);
    }
    if (state.own_last != 0 && state.own_recalled < state.own_last - state.own_first + 1) {
      State next = state;
      ++next.own_recalled;
      ++next.taken_back[state.readers];
      emit(Step{"writer", -1, "takes a frame back", -1, true}, next);
    }
  }

  template <typename Emit>
  void record(const State& state, Emit& emit) const {
    State next = state;
    switch (state.at) {
      case WriterAt::first:
        next.first = {state.own_tenure, state.own_first};
        next.at = WriterAt::recalled;
        return emit(Step{"writer", -1, "stores first", state.own_first}, next);
      case WriterAt::recalled:
        next.recalled = {state.own_tenure, state.own_recalled};
        next.at = is(Mutant::tenure_in_a_word_of_its_own) ? WriterAt::tenure : WriterAt::last;
        return emit(Step{"writer", -1, "stores recalled", state.own_recalled}, next);
      case WriterAt::tenure:
        next.tenure = state.own_tenure;
        next.at = WriterAt::last;
        return emit(Step{"writer", -1, "stores tenure", state.own_tenure}, next);
      case WriterAt::last:
        next.last = {state.own_tenure, state.own_last};
        next.at = state.publishes != 0 ? WriterAt::head : WriterAt::idle;
        return emit(Step{"writer", -1, "stores last", state.own_last}, next);
      default:
        next.head = state.frames;
        ++next.given[state.readers];
        next.at = WriterAt::idle;
        return emit(Step{"writer", -1, "stores head", state.frames}, next);
    }
  }

  // ---- the supervisor

  template <typename Emit>
  void read(const State& state, Emit& emit) const {
    State next = state;
    switch (state.reading) {
      case ReadingAt::none:
        next.given_at_begin = state.given;
        next.reading = ReadingAt::head;
        return emit(Step{"supervisor", -1, "begins to read", -1, true}, next);
      case ReadingAt::head:
        next.seen_head = state.head;
        next.reading = ReadingAt::last;
        return emit(Step{"supervisor", -1, "loads head", state.head}, next);
      case ReadingAt::last:
        next.seen_last = state.last;
        next.reading = ReadingAt::first;
        return emit(Step{"supervisor", -1, "loads last", state.last.value}, next);
      case ReadingAt::first:
        next.seen_first = state.first;
        next.reading = ReadingAt::recalled;
        return emit(Step{"supervisor", -1, "loads first", state.first.value}, next);
      case ReadingAt::recalled:
        next.seen_recalled = state.recalled;
        next.reading = ReadingAt::tenure;
        if (!is(Mutant::tenure_in_a_word_of_its_own)) finish(next);
        return emit(Step{"supervisor", -1, "loads recalled", state.recalled.value}, next);
      case ReadingAt::tenure:
        next.seen_tenure = state.tenure;
        finish(next);
        return emit(Step{"supervisor", -1, "loads tenure", state.tenure}, next);
      case ReadingAt::done:
        return;
    }
  }

  // What it takes the reading for; then nothing of it is left, so that equal states are equal. One reading is enough:
  // it begins at any time.
  void finish(State& state) const {
    int tenure = std::max({state.seen_last.tenure, state.seen_first.tenure, state.seen_recalled.tenure});
    bool one_reader =
        state.seen_last.tenure == tenure && state.seen_first.tenure == tenure && state.seen_recalled.tenure == tenure;
    if (is(Mutant::tenure_in_a_word_of_its_own)) tenure = state.seen_tenure;
    if (is(Mutant::takes_the_older_reader))
      tenure = std::min({state.seen_last.tenure, state.seen_first.tenure, state.seen_recalled.tenure});
    if (is(Mutant::tenure_in_a_word_of_its_own) || is(Mutant::words_of_two_readers)) one_reader = true;
    const int head = is(Mutant::frames_beyond_head) ? most_frames : int{state.seen_head};
    const int first = state.seen_first.value;
    const int last = std::min(int{state.seen_last.value}, head);
    const bool none = !one_reader || first == 0 || first > head || last == 0;
    const int meant = none ? 0 : last - first + 1;
    const int recalled = none ? 0 : std::min(int{state.seen_recalled.value}, meant);
    const auto reader = static_cast<std::size_t>(tenure);
    state.wrong = 0;
    if (meant > state.given[reader]) state.wrong = 1;
    if (meant < state.given_at_begin[reader]) state.wrong = 2;
    if (recalled > state.taken_back[reader]) state.wrong = 3;
    state.reading = ReadingAt::done;
    state.seen_head = state.seen_tenure = 0;
    state.seen_first = state.seen_recalled = state.seen_last = {};
    state.given_at_begin = {};
  }

  Mutant mutant_;
};

Verdict explore_seat(Mutant mutant) {
  Verdict verdict = explore(SeatFramesModel(mutant));
  std::cout << verdict << '\n';
  return verdict;
}

TEST(SeatFramesModel, EachReadingIsOfOneReader) {
  const Verdict verdict = explore_seat(Mutant::none);
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

class CarelessSeatFramesModel : public testing::TestWithParam<Mutant> {};

TEST_P(CarelessSeatFramesModel, IsFoundOut) {
  const Verdict verdict = explore_seat(GetParam());
  EXPECT_EQ(verdict.outcome, Outcome::violation) << verdict;
}

INSTANTIATE_TEST_SUITE_P(Mutants, CarelessSeatFramesModel,
                         testing::Values(Mutant::tenure_in_a_word_of_its_own, Mutant::same_tenure,
                                         Mutant::words_of_two_readers, Mutant::takes_the_older_reader,
                                         Mutant::frames_beyond_head));

}  // namespace CAMPIPE_FILE
}  // namespace campipe::model
