// The frames that a ring's writer takes back from readers that are kept together (FrameRingObserver::keep_together),
// explored exhaustively: tiles, whose work is for nothing where another one of them does not have the frame. The writer
// publishes frames to three readers, of which two or three are kept together, and takes the oldest ones back where a
// queue is full; each reader takes frames whenever it likes; one may be killed at any step, and a successor may come.
// Shows, for every order of steps,
//  - what one of them lost is not still to be taken by another,
//  - frames that one has already taken are kept for the others for as long as there is one that none of them has,
//  - what is taken back is older than what stays,
//  - a reader's lease is never lost, and a frame is either taken, or taken back, or waits,
//  - what a seat counts as taken back is what was,
//  - no queue is longer than its reader asked for,
//  - readers that are not kept together with others lose nothing for them,
// and that the exploration would see it if it were otherwise: each careless variant is found out.
//
// A control word has a frame here, not a slot: that slots are used again is in frame_ring_model_test.cpp. Looking at
// all words is one step. The code looks at one after another, but all that readers do meanwhile is to take frames: a
// count of what is pending is one that some moment had, and the word that is changed is compared as a whole.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>

#include "tests/model/explore.h"
#include "tests/unit/sanitized.h"

namespace campipe::model {
namespace CAMPIPE_FILE {

constexpr int reader_count = 3;
constexpr int most_frames = 5;
constexpr std::uint8_t all_readers = (1 << reader_count) - 1;

enum class Mutant {
  none,
  takes_back_from_one,         // the others work for nothing
  takes_back_from_all_or_one,  // likewise, where one of three has the frame already
  takes_the_oldest_of_each,    // which another one may have taken already
  takes_the_newest,            // the reader falls behind for ever
  waits_for_the_dead,          // of a reader that is gone nothing is pending, so that there never is a common frame
  stores_without_comparing,    // a reader that takes the frame at this moment loses its lease
  counts_what_a_reader_took,   // it won, and the frame is counted all the same
  counts_for_one,              // the other seats have lost frames that nobody knows of
  looks_once,                  // and does not see that the queue is still full
  takes_back_from_everybody,   // also from those that are not kept together
};

struct Control {
  std::uint8_t pending;
  std::uint8_t held;
  friend bool operator==(const Control&, const Control&) = default;
};

enum class Seat : std::uint8_t { reserved, live, gone, empty };
enum class ReaderAt : std::uint8_t { look, take, away };

struct Reader {
  ReaderAt at;
  Seat seat;
  std::uint8_t cursor;  // the last frame that it is through with
  Control seen;
  std::uint8_t settings_live;  // the writer's copy: seen live, and not reclaimed since
  std::uint8_t recalled;       // as its seat counts
  std::uint8_t lost;           // what is true
};

enum class WriterAt : std::uint8_t { between_frames, count, choose, exchange, publish };

struct Writer {
  WriterAt at;
  std::uint8_t reader;  // whose queue is looked at
  std::uint8_t live;
  std::uint8_t frame;  // that is to be taken back, by its number; 0: none
  std::uint8_t back;   // from whom
  Control seen;
  std::uint8_t looked;  // mutant
};

enum class Fault : std::uint8_t { none, for_nothing, newer_first, strangers, too_long };

struct Options {
  Mutant mutant = Mutant::none;
  std::uint8_t together = all_readers;
  int frames = most_frames;
  int queue_size = 2;
  int deaths = 0;
};

class TogetherModel {
 public:
  struct State {
    std::array<Control, most_frames + 1> frames;      // by number, from 1
    std::array<std::uint8_t, most_frames + 1> taken;  // by whom, ever
    std::array<std::uint8_t, most_frames + 1> lost;   // by whom: it was taken back from them
    std::uint8_t head;
    std::array<Reader, reader_count> readers;
    Writer writer;
    std::uint8_t deaths_left;
    Fault fault;
  };

  explicit TogetherModel(const Options& options) : options_(options) {}

  State initial() const {
    State state{};
    state.deaths_left = narrow(options_.deaths);
    return state;
  }

  template <typename Emit>
  void each_step(const State& state, Emit&& emit) const {
    write(state, emit);
    for (int r = 0; r < reader_count; ++r) {
      read(state, r, emit);
      supervise(state, r, emit);
    }
  }

  const char* violation(const State& state) const {
    switch (state.fault) {
      case Fault::none:
        break;
      case Fault::for_nothing:
        return "a frame that one has taken was taken back from another, while there was one that nobody had";
      case Fault::newer_first:
        return "a frame was taken back, and an older one left in the same queues";
      case Fault::strangers:
        return "a reader that is kept together with nobody lost a frame though its queue was not full";
      case Fault::too_long:
        return "a queue is longer than its reader asked for";
    }
    std::uint8_t live = 0;  // others take nothing any more
    for (int r = 0; r < reader_count; ++r) live |= state.readers[r].seat == Seat::live ? bit(r) : 0;
    for (int frame = 1; frame <= state.head; ++frame) {
      const bool some_lost = (state.lost[frame] & options_.together) != 0;
      if (some_lost && (state.frames[frame].pending & options_.together & live) != 0)
        return "a frame that one has lost is still to be taken by another";
      if ((state.lost[frame] & state.taken[frame]) != 0) return "a frame was taken, and taken back";
      if ((state.taken[frame] & ~state.frames[frame].held & live) != 0)
        return "a reader took a frame, and does not hold it";
    }
    for (const Reader& reader : state.readers) {
      if (reader.recalled != reader.lost) return "a seat does not count what its reader lost";
    }
    return nullptr;
  }

  const char* wrong_end(const State& state) const {
    if (state.head != options_.frames) return "the writer waits for ever";
    for (int r = 0; r < reader_count; ++r) {
      if (state.readers[r].seat == Seat::live && state.readers[r].cursor != state.head)
        return "a reader waits for ever";
    }
    return nullptr;
  }

 private:
  static std::uint8_t narrow(int number) { return static_cast<std::uint8_t>(number); }
  static std::uint8_t bit(int reader) { return narrow(1 << reader); }
  bool is(Mutant mutant) const { return options_.mutant == mutant; }
  bool is_together(int reader) const { return (options_.together & bit(reader)) != 0; }

  // ---- the writer: FrameRingWriter::publish() and what it calls

  template <typename Emit>
  void write(const State& state, Emit& emit) const {
    switch (state.writer.at) {
      case WriterAt::between_frames:
        return begin(state, emit);
      case WriterAt::count:
        return count(state, emit);
      case WriterAt::choose:
        return choose(state, emit);
      case WriterAt::exchange:
        return exchange(state, emit);
      case WriterAt::publish:
        return publish(state, emit);
    }
  }

  template <typename Emit>
  void begin(const State& state, Emit& emit) const {
    for (int r = 0; r < reader_count; ++r) {
      if (state.readers[r].seat != Seat::gone) continue;
      State next = state;
      for (Control& control : next.frames) {
        control.pending &= narrow(~bit(r));
        control.held &= narrow(~bit(r));
      }
      for (int frame = 1; frame <= state.head; ++frame) {
        next.taken[frame] &= narrow(~bit(r));
        next.lost[frame] &= narrow(~bit(r));
      }
      next.readers[r] = {ReaderAt::away, Seat::empty, 0, {}, 0, 0, 0};
      emit(Step{"writer", -1, "reclaims from reader", r}, next);
    }
    if (state.head == options_.frames) return;
    State next = state;
    std::uint8_t live = 0;
    for (int r = 0; r < reader_count; ++r) {
      Reader& reader = next.readers[r];
      const bool is_live = reader.seat == Seat::live;
      if (is_live) live |= bit(r);
      if (is_live && reader.settings_live == 0) reader.recalled = reader.lost = 0;
      reader.settings_live = is_live ? 1 : 0;
    }
    if (live == 0) return;  // published to nobody: not of interest
    next.writer = {WriterAt::count, 0, live, 0, 0, {}, 0};
    emit(Step{"writer", -1, "has frame", state.head + 1}, next);
  }

  static int pending_count(const State& state, int reader) {
    int count = 0;
    for (const Control& control : state.frames) count += (control.pending & bit(reader)) != 0 ? 1 : 0;
    return count;
  }

  static void look_at_next_reader(Writer& writer) {
    writer.frame = writer.back = writer.looked = 0;
    writer.seen = {};
    writer.at = ++writer.reader < reader_count ? WriterAt::count : WriterAt::publish;
    if (writer.at == WriterAt::publish) writer.reader = 0;
  }

  template <typename Emit>
  void count(const State& state, Emit& emit) const {
    State next = state;
    Writer& then = next.writer;
    const int reader = then.reader;
    const bool is_full = (then.live & bit(reader)) != 0 && pending_count(state, reader) >= options_.queue_size;
    if (is_full && !(is(Mutant::looks_once) && then.looked != 0)) {
      then.at = WriterAt::choose;
      return emit(Step{"writer", -1, "finds full the queue of reader", reader}, next);
    }
    look_at_next_reader(then);
    emit(Step{"writer", -1, "finds room in the queue of reader", reader}, next);
  }

  // The readers that are live of those that are kept together.
  std::uint8_t companions(const State& state) const {
    std::uint8_t readers = 0;
    for (int r = 0; r < reader_count; ++r) {
      if (is_together(r) && (state.readers[r].settings_live != 0 || is(Mutant::waits_for_the_dead))) readers |= bit(r);
    }
    return readers;
  }

  // The oldest that is pending for all of `readers`; 0: there is none.
  int oldest(const State& state, std::uint8_t readers) const {
    int found = 0;
    for (int frame = 1; frame <= state.head; ++frame) {
      const bool fits = (state.frames[frame].pending & readers) == readers;
      if (fits && (found == 0 || is(Mutant::takes_the_newest))) found = frame;
    }
    return found;
  }

  template <typename Emit>
  void choose(const State& state, Emit& emit) const {
    State next = state;
    Writer& then = next.writer;
    const int reader = then.reader;
    const std::uint8_t together = is_together(reader) ? companions(state) : std::uint8_t{0};
    then.frame = narrow(together != 0 && !is(Mutant::takes_the_oldest_of_each) ? oldest(state, together) : 0);
    then.back = together | bit(reader);
    if (then.frame == 0) {
      then.frame = narrow(oldest(state, bit(reader)));
      if (is(Mutant::takes_back_from_all_or_one)) then.back = bit(reader);
    }
    if (is(Mutant::takes_back_from_one)) then.back = bit(reader);
    if (is(Mutant::takes_back_from_everybody)) then.back = all_readers;
    if (then.frame == 0) {  // it took its frames meanwhile
      then.back = 0;
      then.at = WriterAt::count;
      return emit(Step{"writer", -1, "finds nothing to take back from reader", reader}, next);
    }
    then.seen = state.frames[then.frame];
    then.at = WriterAt::exchange;
    emit(Step{"writer", -1, "chooses to take back frame", then.frame}, next);
  }

  template <typename Emit>
  void exchange(const State& state, Emit& emit) const {
    State next = state;
    Writer& then = next.writer;
    Control& control = next.frames[then.frame];
    const bool unchanged = control == then.seen;
    const std::uint8_t from = then.seen.pending & then.back;
    if (unchanged || is(Mutant::stores_without_comparing)) {
      control = {narrow(then.seen.pending & ~from), then.seen.held};
      check_choice(state, next, from);
      next.lost[then.frame] |= from;
      for (int r = 0; r < reader_count; ++r) next.readers[r].lost += (from & bit(r)) != 0 ? 1 : 0;
    }
    if (unchanged || is(Mutant::counts_what_a_reader_took) || is(Mutant::stores_without_comparing)) {
      for (int r = 0; r < reader_count; ++r) {
        const bool counts = (from & bit(r)) != 0 && (!is(Mutant::counts_for_one) || r == then.reader);
        next.readers[r].recalled += counts ? 1 : 0;
      }
    }
    const int frame = then.frame;
    then.frame = then.back = 0;
    then.seen = {};
    then.looked = is(Mutant::looks_once) ? 1 : 0;
    then.at = WriterAt::count;
    emit(Step{"writer", -1, unchanged ? "takes back frame" : "finds changed the control of frame", frame}, next);
  }

  // Of a frame that is being taken back from the readers `from`.
  void check_choice(const State& state, State& next, std::uint8_t from) const {
    const int frame = state.writer.frame;
    const std::uint8_t strangers = narrow(from & ~options_.together);
    const int reader = state.writer.reader;
    if ((strangers & ~bit(reader)) != 0 || (strangers != 0 && from != strangers)) next.fault = Fault::strangers;
    std::uint8_t companions = 0;
    for (int r = 0; r < reader_count; ++r) {
      if (is_together(r) && state.readers[r].settings_live != 0) companions |= bit(r);
    }
    for (int other = 1; other <= state.head; ++other) {
      const std::uint8_t pending = state.frames[other].pending;
      // That is what the next one must not be better than: nobody has taken it, and it waits for all.
      const bool is_fresh = (pending & companions) == companions && companions != 0;
      const bool has_been_taken = (state.frames[frame].pending & companions) != companions;
      if (is_together(reader) && has_been_taken && is_fresh) next.fault = Fault::for_nothing;
      const bool is_alike = (pending & from) == from && pending == state.frames[frame].pending;
      if (other < frame && is_alike) next.fault = Fault::newer_first;
    }
  }

  template <typename Emit>
  void publish(const State& state, Emit& emit) const {
    State next = state;
    const std::uint8_t live = state.writer.live;
    next.frames[++next.head] = {live, 0};
    for (int r = 0; r < reader_count; ++r) {
      if ((live & bit(r)) != 0 && pending_count(next, r) > options_.queue_size) next.fault = Fault::too_long;
    }
    next.writer = {};
    emit(Step{"writer", -1, "publishes frame", next.head}, next);
  }

  // ---- a reader

  template <typename Emit>
  void read(const State& state, int r, Emit& emit) const {
    const Reader& self = state.readers[r];
    State next = state;
    Reader& then = next.readers[r];
    if (self.seat == Seat::reserved) {
      then.cursor = state.head;
      then.seat = Seat::live;
      return emit(Step{"reader", r, "attaches behind frame", state.head}, next);
    }
    if (self.seat != Seat::live) return;
    const int wanted = self.cursor + 1;
    if (self.at == ReaderAt::look && wanted <= state.head) {
      const Control control = state.frames[wanted];
      if ((control.pending & bit(r)) == 0) {
        then.cursor++;
        return emit(Step{"reader", r, "skips frame", wanted}, next);
      }
      then.seen = control;
      then.at = ReaderAt::take;
      return emit(Step{"reader", r, "finds pending frame", wanted}, next);
    }
    if (self.at != ReaderAt::take) return;
    Control& control = next.frames[wanted];
    const bool unchanged = control == self.seen;
    then.seen = {};
    then.at = ReaderAt::look;
    if (unchanged) {
      control.pending &= narrow(~bit(r));
      control.held |= bit(r);
      next.taken[wanted] |= bit(r);
      then.cursor++;
    }
    emit(Step{"reader", r, unchanged ? "takes frame" : "finds changed the control of frame", wanted}, next);
  }

  // ---- deaths

  template <typename Emit>
  void supervise(const State& state, int r, Emit& emit) const {
    const Reader& reader = state.readers[r];
    if (reader.seat == Seat::live && state.deaths_left > 0) {
      State next = state;
      next.deaths_left--;
      next.readers[r].seat = Seat::gone;
      next.readers[r].at = ReaderAt::away;
      next.readers[r].seen = {};
      emit(Step{"reader", r, "is killed, and its seat gone", -1, true}, next);
    }
    if (reader.seat == Seat::empty) {
      State next = state;
      next.readers[r].seat = Seat::reserved;
      next.readers[r].at = ReaderAt::look;
      emit(Step{"supervisor", -1, "starts a successor of reader", r, true}, next);
    }
  }

  Options options_;
};

constexpr int frames_to_explore = test::is_sanitized ? 3 : 4;
constexpr std::uint8_t first_two = 0b011;

Verdict explore_readers(const Options& options) {
  Verdict verdict = explore(TogetherModel(options));
  std::cout << verdict << '\n';
  return verdict;
}

TEST(TogetherModel, ThreeTilesLoseTheSameFrames) {
  const Verdict verdict = explore_readers({.frames = frames_to_explore});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(TogetherModel, TwoTilesLoseTheSameFramesAndAThirdReaderItsOwn) {
  const Verdict verdict = explore_readers({.together = first_two, .frames = frames_to_explore});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(TogetherModel, GoesOnWithoutATileThatDiedAndWithItsSuccessor) {
  const Verdict verdict = explore_readers({.frames = 3, .queue_size = 1, .deaths = 1});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

struct Careless {
  const char* name;
  Options options;
  friend std::ostream& operator<<(std::ostream& out, const Careless& of) { return out << of.name; }
};

class CarelessTogetherModel : public testing::TestWithParam<Careless> {};

TEST_P(CarelessTogetherModel, IsFoundOut) {
  const Verdict verdict = explore_readers(GetParam().options);
  EXPECT_TRUE(verdict.outcome == Outcome::violation || verdict.outcome == Outcome::wrong_end) << verdict;
}

INSTANTIATE_TEST_SUITE_P(
    Mutants, CarelessTogetherModel,
    testing::Values(Careless{"TakesBackFromOne", {.mutant = Mutant::takes_back_from_one}},
                    Careless{"TakesBackFromAllOrOne", {.mutant = Mutant::takes_back_from_all_or_one}},
                    Careless{"TakesTheOldestOfEach", {.mutant = Mutant::takes_the_oldest_of_each}},
                    Careless{"TakesTheNewest", {.mutant = Mutant::takes_the_newest}},
                    Careless{"WaitsForTheDead", {.mutant = Mutant::waits_for_the_dead}},
                    Careless{"StoresWithoutComparing", {.mutant = Mutant::stores_without_comparing}},
                    Careless{"CountsWhatAReaderTook", {.mutant = Mutant::counts_what_a_reader_took}},
                    Careless{"CountsForOne", {.mutant = Mutant::counts_for_one}},
                    Careless{"LooksOnce", {.mutant = Mutant::looks_once}},
                    Careless{"TakesBackFromEverybody",
                             {.mutant = Mutant::takes_back_from_everybody, .together = first_two}}),
    [](const auto& of) { return of.param.name; });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::model
