// How far a ring's writer is (FrameRingReader::resolved), as one learns who joins the frames of several rings, explored
// exhaustively: the writer publishes each frame of a source or drops it, takes back what waits for too long, and closes
// the ring or is killed at any step; the reader takes frames, and sleeps when there is no news. Shows, for every order
// of steps,
//  - the reader never believes of a frame that is still to come that it will not come,
//  - it does not sleep while it could know more: a frame that waits for this one's part is given up at once,
//  - when the writer has ended, the reader has all frames, and knows of all others,
// and that the exploration would see it if it were otherwise: each careless variant is found out.
//
// Time does not pass: a reader that only looks again since its deadline has passed has lost that time. Slots, leases
// and seats are in frame_ring_model_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>

#include "tests/model/explore.h"

namespace campipe::model {
namespace CAMPIPE_FILE {

constexpr int source_frames = 4;

enum class Mutant {
  none,
  compares_with_a_later_look,      // what was resolved between two looks is not noticed until there is other news
  loads_head_before_resolved,      // a frame that was published in between is given up
  loads_writer_after_head,         // likewise: the writer published once more before it ended
  loads_news_after_head,           // what comes in between wakes nobody
  believes_it_with_a_frame,        // but frames behind that one are still in the ring
  ends_with_an_earlier_look,       // the writer dropped another one before it ended
  forgets_it_at_the_end,           // the last frames that were dropped are waited for
  stores_resolved_before_head,     // the reader does not see the frame yet
  resolves_without_news,           // nobody wakes
  looks_for_sleepers_before_news,  // one that falls asleep in between sleeps on
  resolves_what_it_begins,         // a frame is not dropped before that is certain
  goes_without_news,               // the supervisor marks the writer gone, and the reader sleeps
};

enum class Frame : std::uint8_t { unknown, waits, taken, taken_back, dropped };
enum class Writing : std::uint8_t { open, closed, gone };
enum class WriterAt : std::uint8_t {
  between_frames,
  begun,
  control,
  head,
  resolved,
  sleepers,
  news,
  wake,
  over,
  killed
};
enum class ReaderAt : std::uint8_t { first_look, look, news, resolved, writer, head, take, bit, futex, asleep, ended };

class ResolvedModel {
 public:
  struct State {
    // In shared memory.
    std::array<std::uint8_t, source_frames + 1> number;  // of the frame of each sequence, from 1
    std::array<Frame, source_frames + 1> frames;         // by source number, from 1
    std::uint8_t head;
    std::uint8_t resolved;
    std::uint8_t news;
    std::uint8_t waiting;  // the reader's bit
    Writing writing;
    // The writer's own.
    WriterAt at;
    std::uint8_t source;        // the frame in work, or the last one
    std::uint8_t is_published;  // that is what it does to it
    std::uint8_t closes;
    std::uint8_t saw_sleeper;
    // The reader's own.
    ReaderAt reading;
    std::uint8_t cursor;
    std::uint8_t known;   // that no frame up to this one will come any more
    std::uint8_t before;  // mutant,
    std::uint8_t grew;    // likewise
    std::uint8_t seen_news;
    std::uint8_t seen_resolved;
    std::uint8_t seen_head;
    Writing seen_writing;
    std::uint8_t is_marked;  // by the supervisor
    std::uint8_t wrong;      // in `faults`
  };

  explicit ResolvedModel(Mutant mutant) : mutant_(mutant) {}

  State initial() const {
    State state{};
    begin_look(state);
    return state;
  }

  template <typename Emit>
  void each_step(const State& state, Emit&& emit) const {
    write(state, emit);
    read(state, emit);
    take_back(state, emit);
    end(state, emit);
  }

  const char* violation(const State& state) const {
    for (int n = 1; n <= state.known; ++n) {
      if (state.frames[n] == Frame::waits) return "a frame is given up that is still to come";
      if (state.frames[n] == Frame::unknown) return "a frame is given up that the writer has not begun";
    }
    return nullptr;
  }

  const char* wrong_end(const State& state) const {
    if (state.cursor != state.head) return "the reader has not seen the last frame";
    if (state.known < state.resolved) return "the reader waits for frames that will not come";
    if (state.writing != Writing::open && state.reading != ReaderAt::ended) return "the reader waits for ever";
    return nullptr;
  }

 private:
  bool is(Mutant mutant) const { return mutant_ == mutant; }
  static std::uint8_t narrow(int number) { return static_cast<std::uint8_t>(number); }

  // ---- the writer: publish(), resolve() and close()

  template <typename Emit>
  void write(const State& state, Emit& emit) const {
    State next = state;
    const bool head_last = is(Mutant::stores_resolved_before_head);
    switch (state.at) {
      case WriterAt::between_frames:
        if (state.source == source_frames) return;
        ++next.source;
        next.at = WriterAt::begun;
        if (is(Mutant::resolves_what_it_begins)) next.resolved = next.source;
        return emit(Step{"writer", -1, "begins frame", next.source}, next);
      case WriterAt::begun:
        next.at = WriterAt::control;
        next.is_published = 1;
        next.number[state.head + 1] = state.source;
        next.frames[state.source] = Frame::waits;
        emit(Step{"writer", -1, "publishes frame", state.source}, next);
        next = state;
        next.at = WriterAt::resolved;
        next.frames[state.source] = Frame::dropped;
        return emit(Step{"writer", -1, "drops frame", state.source}, next);
      case WriterAt::control:
      case WriterAt::head:
        if (head_last && state.resolved < state.source) return store_resolved(state, WriterAt::head, emit);
        ++next.head;
        next.at = head_last ? after_resolved() : WriterAt::resolved;
        return emit(Step{"writer", -1, "stores head", next.head}, next);
      case WriterAt::resolved:
        return store_resolved(state, after_resolved(), emit);
      default:
        return tell(state, emit);
    }
  }

  WriterAt after_resolved() const {
    return is(Mutant::looks_for_sleepers_before_news) ? WriterAt::sleepers : WriterAt::news;
  }

  template <typename Emit>
  void store_resolved(const State& state, WriterAt then, Emit& emit) const {
    State next = state;
    next.resolved = state.source;
    next.at = then;
    if (is(Mutant::resolves_without_news) && state.is_published == 0) rest(next);
    emit(Step{"writer", -1, "stores resolved", state.source}, next);
  }

  static void rest(State& state) {
    state.at = state.closes != 0 ? WriterAt::over : WriterAt::between_frames;
    state.is_published = state.saw_sleeper = 0;
  }

  template <typename Emit>
  void tell(const State& state, Emit& emit) const {
    State next = state;
    const bool looks_first = is(Mutant::looks_for_sleepers_before_news);
    switch (state.at) {
      case WriterAt::sleepers:
        next.saw_sleeper = state.closes != 0 ? std::uint8_t{1} : state.waiting;
        next.at = looks_first ? WriterAt::news : WriterAt::wake;
        return emit(Step{"writer", -1, "looks for a reader that sleeps"}, next);
      case WriterAt::news:
        ++next.news;
        next.at = looks_first ? WriterAt::wake : WriterAt::sleepers;
        return emit(Step{"writer", -1, "has news"}, next);
      case WriterAt::wake:
        if (state.saw_sleeper != 0) wake(next);  // close() wakes whether somebody sleeps or not
        rest(next);
        return emit(Step{"writer", -1, state.saw_sleeper != 0 ? "wakes the reader" : "wakes nobody"}, next);
      default:
        return;
    }
  }

  static void wake(State& state) {
    if (state.reading != ReaderAt::asleep) return;
    wake_up(state);
  }

  static void wake_up(State& state) {
    state.waiting = 0;
    state.reading = ReaderAt::news;
    forget_look(state);
  }

  // ---- the reader: TilePart::receive() and FrameRingReader::next()

  static void forget_look(State& state) {
    state.seen_news = state.seen_resolved = state.seen_head = 0;
    state.seen_writing = Writing::open;
  }

  // next() begins. Before that the careless one looks how far the writer is, and next() does so again.
  void begin_look(State& state) const {
    forget_look(state);
    state.before = state.grew = 0;
    state.reading = is(Mutant::compares_with_a_later_look) ? ReaderAt::first_look : ReaderAt::news;
  }

  // The order of a look.
  ReaderAt after(ReaderAt at) const {
    if (is(Mutant::loads_head_before_resolved)) {
      if (at == ReaderAt::news) return ReaderAt::writer;
      if (at == ReaderAt::writer) return ReaderAt::head;
      return at == ReaderAt::head ? ReaderAt::resolved : ReaderAt::take;
    }
    if (is(Mutant::loads_writer_after_head)) {
      if (at == ReaderAt::news) return ReaderAt::resolved;
      if (at == ReaderAt::resolved) return ReaderAt::head;
      return at == ReaderAt::head ? ReaderAt::writer : ReaderAt::take;
    }
    if (at == ReaderAt::news) return ReaderAt::resolved;
    if (at == ReaderAt::resolved) return ReaderAt::writer;
    return at == ReaderAt::writer ? ReaderAt::head : ReaderAt::take;
  }

  template <typename Emit>
  void read(const State& state, Emit& emit) const {
    State next = state;
    switch (state.reading) {
      case ReaderAt::first_look:
        next.seen_resolved = state.resolved;  // what it believes where next() gives no frame
        next.reading = ReaderAt::look;
        return emit(Step{"reader", -1, "loads resolved", state.resolved}, next);
      case ReaderAt::look:
        next.before = state.resolved;
        next.reading = ReaderAt::news;
        return emit(Step{"reader", -1, "loads resolved again", state.resolved}, next);
      case ReaderAt::news:
        next.seen_news = state.news;
        next.reading = after(ReaderAt::news);
        return emit(Step{"reader", -1, "loads news", state.news}, next);
      case ReaderAt::resolved:
        if (is(Mutant::compares_with_a_later_look)) {
          next.grew = state.resolved != state.before ? 1 : 0;
        } else {
          next.seen_resolved = state.resolved;
        }
        next.reading = after(ReaderAt::resolved);
        return emit(Step{"reader", -1, "loads resolved", state.resolved}, next);
      case ReaderAt::writer:
        next.seen_writing = state.writing;
        next.reading = after(ReaderAt::writer);
        return emit(Step{"reader", -1, "loads the state of the writer"}, next);
      case ReaderAt::head:
        next.seen_head = state.head;
        next.reading = after(ReaderAt::head);
        return emit(Step{"reader", -1, "loads head", state.head}, next);
      case ReaderAt::take:
        return take(state, emit);
      case ReaderAt::bit:
        next.waiting = 1;
        next.reading = ReaderAt::futex;
        return emit(Step{"reader", -1, "shows that it sleeps"}, next);
      case ReaderAt::futex:
        next.reading = ReaderAt::asleep;
        if (state.news != state.seen_news) wake_up(next);
        return emit(Step{"reader", -1, state.news != state.seen_news ? "sees news" : "falls asleep"}, next);
      case ReaderAt::asleep:
      case ReaderAt::ended:
        return;
    }
  }

  template <typename Emit>
  void take(const State& state, Emit& emit) const {
    State next = state;
    if (state.cursor != state.seen_head) {
      const int number = state.number[++next.cursor];
      if (state.frames[number] != Frame::waits) {
        return emit(Step{"reader", -1, "skips frame", number}, next);
      }
      next.frames[number] = Frame::taken;
      next.known = std::max(state.known, narrow(number));
      if (is(Mutant::believes_it_with_a_frame)) next.known = std::max(next.known, state.seen_resolved);
      begin_look(next);
      return emit(Step{"reader", -1, "takes frame", number}, next);
    }
    if (state.seen_writing != Writing::open) {
      // Loaded once more: the writer may have got further since the last look, and will get no further.
      const std::uint8_t last = is(Mutant::ends_with_an_earlier_look) ? state.seen_resolved : state.resolved;
      if (!is(Mutant::forgets_it_at_the_end)) next.known = std::max(state.known, last);
      forget_look(next);
      next.before = next.grew = 0;
      next.reading = ReaderAt::ended;
      return emit(Step{"reader", -1, "ends"}, next);
    }
    const bool is_news = is(Mutant::compares_with_a_later_look) ? state.grew != 0 : state.seen_resolved > state.known;
    if (is_news) {
      next.known = std::max(state.known, state.seen_resolved);
      begin_look(next);
      return emit(Step{"reader", -1, "learns of frames up to", next.known}, next);
    }
    next.reading = ReaderAt::bit;
    if (is(Mutant::loads_news_after_head)) next.seen_news = state.news;
    emit(Step{"reader", -1, "finds nothing new"}, next);
  }

  // ---- frames that wait for too long, and ends

  template <typename Emit>
  void take_back(const State& state, Emit& emit) const {
    if (state.at != WriterAt::begun) return;
    for (int n = 1; n < state.source; ++n) {
      if (state.frames[n] != Frame::waits) continue;
      State next = state;
      next.frames[n] = Frame::taken_back;
      emit(Step{"writer", -1, "takes back frame", n, true}, next);
    }
  }

  template <typename Emit>
  void end(const State& state, Emit& emit) const {
    State next = state;
    if (state.at == WriterAt::between_frames) {
      next.writing = Writing::closed;
      next.closes = 1;
      next.at = after_resolved();
      emit(Step{"writer", -1, "closes the ring", -1, true}, next);
    }
    next = state;
    if (state.at != WriterAt::killed && state.at != WriterAt::over) {
      next.at = WriterAt::killed;
      next.is_published = next.saw_sleeper = next.closes = 0;
      emit(Step{"writer", -1, "is killed", -1, true}, next);
    }
    next = state;
    if (state.at == WriterAt::killed && state.is_marked == 0) {
      next.is_marked = 1;
      if (state.writing == Writing::open) next.writing = Writing::gone;
      if (!is(Mutant::goes_without_news)) {
        ++next.news;
        wake(next);
      }
      emit(Step{"supervisor", -1, "marks the writer gone"}, next);
    }
  }

  Mutant mutant_;
};

Verdict explore_reader(Mutant mutant) {
  Verdict verdict = explore(ResolvedModel(mutant));
  std::cout << verdict << '\n';
  return verdict;
}

TEST(ResolvedModel, WhoJoinsLearnsOfEachFrameAtOnce) {
  const Verdict verdict = explore_reader(Mutant::none);
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

class CarelessResolvedModel : public testing::TestWithParam<Mutant> {};

TEST_P(CarelessResolvedModel, IsFoundOut) {
  const Verdict verdict = explore_reader(GetParam());
  EXPECT_TRUE(verdict.outcome == Outcome::violation || verdict.outcome == Outcome::wrong_end) << verdict;
}

INSTANTIATE_TEST_SUITE_P(Mutants, CarelessResolvedModel,
                         testing::Values(Mutant::compares_with_a_later_look, Mutant::loads_head_before_resolved,
                                         Mutant::loads_writer_after_head, Mutant::loads_news_after_head,
                                         Mutant::believes_it_with_a_frame, Mutant::ends_with_an_earlier_look,
                                         Mutant::forgets_it_at_the_end, Mutant::stores_resolved_before_head,
                                         Mutant::resolves_without_news, Mutant::looks_for_sleepers_before_news,
                                         Mutant::resolves_what_it_begins, Mutant::goes_without_news));

}  // namespace CAMPIPE_FILE
}  // namespace campipe::model
