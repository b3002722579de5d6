// The packet ring under a reader that decodes (ReplayReader), explored exhaustively: a writer that waits for room or
// leaves packets out up to the next key frame, a reader that gives packets back by key frames, deaths of both at
// every step, and successors that decode again. Shows, for every order of steps,
//  - a packet that was not given back is never overwritten, and none is read before it is there,
//  - no frame is handed on twice, or out of order,
//  - as long as the ring has room for what is kept, nothing is given up, and no death of a reader loses a frame,
//  - where it has not, writer and reader go on all the same, and without a death no frame is lost,
//  - who waits is woken, and the reader ends with the last packet,
// and that the exploration would see it if it were otherwise: each careless variant is found out.
//
// Time does not pass: who only looks again since a deadline has passed has lost that time. The exception is a wait that
// a death has cut off from its wake, which ends by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>

#include "tests/model/explore.h"

namespace campipe::model {
namespace CAMPIPE_FILE {

constexpr int most_packets = 6;
constexpr int most_room = 6;
constexpr int reorder_delay = 1;  // frames that a decoder holds back

enum class Mutant {
  none,
  releases_at_the_key_frame,        // frames before it are still in the decoder
  releases_at_any_frame_behind_it,  // one that is shown before the key frame: others of that kind may follow
  releases_the_key_frame,           // of which a successor has need
  never_gives_up,                   // what is larger than the ring
  gives_up_unasked,                 // whenever there is nothing to read
  gives_up_all,                     // although a key frame is kept
  looks_for_requests_before_news,   // one that comes in between wakes nobody
  answers_an_old_request,           // although something has been given back since
  wakes_before_it_releases,         // the writer finds no room, and sleeps on
  asks_without_news,                // the reader sleeps
  looks_at_room_after_place,        // what is given back in between wakes nobody
  reuses_what_was_read,             // a successor needs it
  stores_head_before_it_fills,      // the reader finds what was there before
  goes_on_in_the_midst,             // after packets that it left out, not at a key frame
  successor_begins_at_the_newest,   // packet that was read
  successor_hands_on_again,         // what its predecessor has
  loads_writer_after_head,          // a packet came before the writer's end
  goes_without_news,                // the supervisor marks the writer gone, and the reader sleeps
};

// A stream: which packets are key frames, when each one's frame is shown, and the size of the ring in packets.
struct Stream {
  int packets = 0;
  int room = 0;
  std::array<bool, most_packets + 1> key{};
  std::array<int, most_packets + 1> shown{};  // place in the order of showing, from 1
};

// Two frames behind the second key frame are shown before it, and refer to what lies before it.
constexpr Stream open_groups{6, 6, {false, true, false, true, false, false, true}, {0, 1, 2, 5, 3, 4, 6}};
// The same, in a ring that is too small for what has to be kept.
constexpr Stream small_ring{6, 3, {false, true, false, true, false, false, true}, {0, 1, 2, 5, 3, 4, 6}};
// One group, larger than the ring.
constexpr Stream long_group{5, 2, {false, true, false, false, false, false, false}, {0, 1, 2, 3, 4, 5, 0}};
// Short groups, in a ring that has just enough room for them.
constexpr Stream short_groups{6, 4, {false, true, false, true, false, true, false}, {0, 1, 2, 3, 4, 5, 6}};

enum class Writing : std::uint8_t { open, closed, gone };
enum class WriterAt : std::uint8_t {
  place,
  room_word,
  waits,
  place_again,
  request,
  ask_news,
  ask_look,
  ask_wake,
  futex,
  asleep,
  awake,
  fill,
  head,
  news,
  look,
  wake,
  over,
  killed
};
enum class ReaderAt : std::uint8_t {
  request_first,  // mutant
  news,
  writer,
  head,
  take,
  emit,
  release,
  release_look,
  release_room,
  release_wake,
  request,
  show_sleep,
  futex,
  asleep,
  ended,
  dead
};

class PacketRingModel {
 public:
  struct State {
    // In shared memory.
    std::array<std::uint8_t, most_room> slot;  // the number of the packet in it
    std::uint8_t head;
    std::uint8_t released;
    std::uint8_t news;
    std::uint8_t room;
    std::uint8_t full_at;
    std::uint8_t writer_waits;
    std::uint8_t reader_sleeps;
    Writing writing;
    std::uint8_t handed_on;  // the newest frame, as the order of showing has it: in the frame ring
    // The writer's own.
    WriterAt at;
    std::uint8_t packet;  // that is to be written, or the last one
    std::uint8_t seen_released;
    std::uint8_t seen_room;
    std::uint8_t saw_sleeper;
    std::uint8_t need_key;
    std::uint8_t closes;
    // The reader's own.
    ReaderAt reading;
    std::uint8_t cursor;
    std::uint8_t seen_news;
    std::uint8_t seen_head;
    std::uint8_t seen_full_at;
    std::uint8_t decoder;  // frames in it, as bits by packet
    std::uint8_t began;    // the key frame that this decoder began with; 0: it waits for one
    std::uint8_t to_release;
    std::uint8_t drains;  // no packet follows
    std::uint8_t gives_up;
    Writing seen_writing;
    // What was, for the checks.
    std::uint8_t written;    // packets, as bits
    std::uint8_t frames;     // that were handed on, as bits by packet
    std::uint8_t deaths;     // of readers
    std::uint8_t gave_up;    // something, ever
    std::uint8_t may_lose;   // a reader has died after that
    std::uint8_t wake_lost;  // a reader has died that had given something back, or was asked to
    std::uint8_t is_marked;  // by the supervisor
    std::uint8_t fault;
  };

  PacketRingModel(const Stream& stream, Mutant mutant) : stream_(stream), mutant_(mutant) {}

  State initial() const {
    State state{};
    state.packet = 1;
    state.reading = first_look();
    return state;
  }

  template <typename Emit>
  void each_step(const State& state, Emit&& emit) const {
    write(state, emit);
    read(state, emit);
    die(state, emit);
  }

  const char* violation(const State& state) const {
    switch (state.fault) {
      case 1:
        return "a packet is read that is not there";
      case 2:
        return "a frame is handed on twice, or out of order";
      case 3:
        return "a packet is overwritten that was not given back";
      case 4:
        return "packets are given up although there is room";
      case 5:
        return "a key frame is given up with what lies before it";
      case 6:
        return "a packet is decoded that refers to one that was left out";
      default:
        return nullptr;
    }
  }

  const char* wrong_end(const State& state) const {
    if (state.at != WriterAt::over && state.at != WriterAt::killed) return "the writer waits for ever";
    if (state.reading != ReaderAt::ended) return "the reader waits for ever";
    if (state.may_lose == 0 && state.frames != state.written) return "a frame is lost";
    return nullptr;
  }

 private:
  bool is(Mutant mutant) const { return mutant_ == mutant; }
  static std::uint8_t narrow(int number) { return static_cast<std::uint8_t>(number); }
  static std::uint8_t bit(int packet) { return narrow(1 << packet); }
  static bool has(std::uint8_t bits, int packet) { return (bits >> packet & 1) != 0; }

  std::uint8_t& slot_of(State& state, int position) const {
    return state.slot[static_cast<std::size_t>(position % stream_.room)];
  }

  // ---- the writer: push() and close()

  bool has_room(const State& state) const {
    const int given_back = is(Mutant::reuses_what_was_read) ? state.cursor : state.released;
    return state.head - given_back < stream_.room;
  }

  void begin_packet(State& state) const {
    state.seen_room = state.saw_sleeper = state.seen_released = 0;
    while (state.packet <= stream_.packets && state.need_key != 0 && !stream_.key[state.packet]) ++state.packet;
    if (state.packet > stream_.packets) {
      state.closes = 1;
      state.writing = Writing::closed;
      state.at = WriterAt::news;
      return;
    }
    state.need_key = 0;
    state.at = WriterAt::place;
  }

  template <typename Emit>
  void write(const State& state, Emit& emit) const {
    State next = state;
    switch (state.at) {
      case WriterAt::place:
        next.at = has_room(state) ? first_of_filling() : first_of_waiting();
        return emit(
            Step{"writer", -1, has_room(state) ? "has room for packet" : "has no room for packet", state.packet}, next);
      case WriterAt::room_word:
        next.seen_room = state.room;
        next.at = is(Mutant::looks_at_room_after_place) ? WriterAt::request : WriterAt::waits;
        return emit(Step{"writer", -1, "loads room", state.room}, next);
      case WriterAt::waits:
        next.writer_waits = 1;
        next.at = WriterAt::place_again;
        return emit(Step{"writer", -1, "shows that it waits"}, next);
      case WriterAt::place_again:
        next.seen_released = state.released;
        if (has_room(state)) {
          next.writer_waits = 0;
          next.at = first_of_filling();
          return emit(Step{"writer", -1, "has room all the same"}, next);
        }
        next.at = is(Mutant::looks_at_room_after_place) ? WriterAt::room_word : WriterAt::request;
        return emit(Step{"writer", -1, "still has no room"}, next);
      case WriterAt::request:
        next.full_at = narrow(state.seen_released + 1);
        next.at = is(Mutant::asks_without_news) ? WriterAt::futex : WriterAt::ask_news;
        return emit(Step{"writer", -1, "asks for room"}, next);
      case WriterAt::futex:
        next.at = state.room != state.seen_room ? WriterAt::awake : WriterAt::asleep;
        return emit(Step{"writer", -1, state.room != state.seen_room ? "sees that room came" : "falls asleep"}, next);
      case WriterAt::asleep:
        return sleep(state, emit);
      case WriterAt::awake:
        next.writer_waits = 0;
        next.at = WriterAt::place;
        return emit(Step{"writer", -1, "waits no more"}, next);
      case WriterAt::fill:
        return fill(state, emit);
      case WriterAt::head:
        ++next.head;
        next.written |= bit(state.packet);
        next.at = is(Mutant::stores_head_before_it_fills) ? WriterAt::fill : WriterAt::news;
        return emit(Step{"writer", -1, "stores head", next.head}, next);
      default:
        return tell(state, emit);
    }
  }

  WriterAt first_of_filling() const {
    return is(Mutant::stores_head_before_it_fills) ? WriterAt::head : WriterAt::fill;
  }
  WriterAt first_of_waiting() const {
    return is(Mutant::looks_at_room_after_place) ? WriterAt::waits : WriterAt::room_word;
  }

  template <typename Emit>
  void fill(const State& state, Emit& emit) const {
    State next = state;
    const bool head_first = is(Mutant::stores_head_before_it_fills);
    const int position = head_first ? state.head - 1 : state.head;
    if (position - state.released >= stream_.room) next.fault = 3;
    slot_of(next, position) = state.packet;
    next.at = head_first ? WriterAt::news : WriterAt::head;
    emit(Step{"writer", -1, "writes packet", state.packet}, next);
  }

  // A live source waits for a moment only, and then leaves out what comes up to the next key frame.
  template <typename Emit>
  void sleep(const State& state, Emit& emit) const {
    State next = state;
    if (state.wake_lost != 0) {
      next.wake_lost = 0;
      next.at = WriterAt::awake;
      return emit(Step{"writer", -1, "looks again by itself"}, next);
    }
    next.writer_waits = 0;
    next.need_key = is(Mutant::goes_on_in_the_midst) ? 0 : 1;
    ++next.packet;
    begin_packet(next);
    emit(Step{"writer", -1, "leaves out packet", state.packet, true}, next);
  }

  template <typename Emit>
  void tell(const State& state, Emit& emit) const {
    State next = state;
    switch (state.at) {
      case WriterAt::ask_news:
      case WriterAt::news:
        ++next.news;
        next.at = state.at == WriterAt::news ? WriterAt::look : WriterAt::ask_look;
        return emit(Step{"writer", -1, state.closes != 0 ? "closes the ring" : "has news"}, next);
      case WriterAt::ask_look:
      case WriterAt::look:
        next.saw_sleeper = state.closes != 0 ? std::uint8_t{1} : state.reader_sleeps;
        next.at = state.at == WriterAt::look ? WriterAt::wake : WriterAt::ask_wake;
        return emit(Step{"writer", -1, "looks for a reader that sleeps"}, next);
      case WriterAt::ask_wake:
      case WriterAt::wake:
        if (state.saw_sleeper != 0) wake_reader(next);
        next.saw_sleeper = 0;
        if (state.at == WriterAt::ask_wake) {
          next.at = WriterAt::futex;
        } else if (state.closes != 0) {
          next.at = WriterAt::over;
        } else {
          ++next.packet;
          begin_packet(next);
        }
        return emit(Step{"writer", -1, state.saw_sleeper != 0 ? "wakes the reader" : "wakes nobody"}, next);
      default:
        return;
    }
  }

  void wake_reader(State& state) const {
    if (state.reading == ReaderAt::asleep) begin_look(state);
  }

  // ---- the reader: ReplayReader over PacketRingReader

  ReaderAt first_look() const {
    return is(Mutant::looks_for_requests_before_news) ? ReaderAt::request_first : ReaderAt::news;
  }

  void begin_look(State& state) const {
    state.reader_sleeps = 0;
    state.seen_news = state.seen_head = state.seen_full_at = state.gives_up = 0;
    state.to_release = 0;
    state.seen_writing = Writing::open;
    state.reading = first_look();
  }

  template <typename Emit>
  void read(const State& state, Emit& emit) const {
    State next = state;
    const bool late = is(Mutant::loads_writer_after_head);
    switch (state.reading) {
      case ReaderAt::request_first:
        next.seen_full_at = state.full_at;
        next.reading = ReaderAt::news;
        return emit(Step{"reader", -1, "looks whether room is asked for"}, next);
      case ReaderAt::news:
        next.seen_news = state.news;
        next.reading = late ? ReaderAt::head : ReaderAt::writer;
        return emit(Step{"reader", -1, "loads news", state.news}, next);
      case ReaderAt::writer:
        next.seen_writing = state.writing;
        next.reading = late ? ReaderAt::take : ReaderAt::head;
        return emit(Step{"reader", -1, "loads the state of the writer"}, next);
      case ReaderAt::head:
        next.seen_head = state.head;
        next.reading = late ? ReaderAt::writer : ReaderAt::take;
        return emit(Step{"reader", -1, "loads head", state.head}, next);
      case ReaderAt::take:
        return take(state, emit);
      case ReaderAt::emit:
        return hand_on(state, emit);
      case ReaderAt::request:
        next.seen_full_at = state.full_at;
        return answer(next, emit);
      case ReaderAt::show_sleep:
        next.reader_sleeps = 1;
        next.reading = ReaderAt::futex;
        return emit(Step{"reader", -1, "shows that it sleeps"}, next);
      case ReaderAt::futex:
        if (state.news != state.seen_news) {
          begin_look(next);
        } else {
          next.reading = ReaderAt::asleep;
        }
        return emit(Step{"reader", -1, state.news != state.seen_news ? "sees news" : "falls asleep"}, next);
      default:
        return release(state, emit);
    }
  }

  template <typename Emit>
  void take(const State& state, Emit& emit) const {
    State next = state;
    if (state.cursor < state.seen_head) {
      const int packet = state.slot[static_cast<std::size_t>(state.cursor % stream_.room)];
      ++next.cursor;
      if (packet == 0 || !is_newest_of(state, packet, next.cursor)) {
        next.fault = 1;
        return emit(Step{"reader", -1, "reads what is not there"}, next);
      }
      decode(next, packet);
      next.reading = ReaderAt::emit;
      if (is(Mutant::releases_at_the_key_frame) && stream_.key[packet]) begin_release(next, next.cursor - 1);
      return emit(Step{"reader", -1, "reads packet", packet}, next);
    }
    if (state.seen_writing != Writing::open) {
      next.drains = 1;
      next.reading = ReaderAt::emit;
      return emit(Step{"reader", -1, "sees the end"}, next);
    }
    if (is(Mutant::looks_for_requests_before_news)) return answer(next, emit);
    if (state.released == state.cursor) {
      next.reading = ReaderAt::show_sleep;
      return emit(Step{"reader", -1, "finds nothing new, and keeps nothing"}, next);
    }
    next.reading = ReaderAt::request;
    emit(Step{"reader", -1, "finds nothing new"}, next);
  }

  // The packet at that place of the ring, counted from 1, is the one that was written there: as many were written
  // before it.
  static bool is_newest_of(const State& state, int packet, int place) {
    int before = 0;
    for (int n = 1; n <= packet; ++n) before += has(state.written, n) ? 1 : 0;
    return has(state.written, packet) && before == place;
  }

  // A decoder that begins at a key frame leaves out what is shown before that and came behind it: it refers to frames
  // that it has not.
  void decode(State& state, int packet) const {
    if (state.began == 0 && stream_.key[packet]) state.began = narrow(packet);
    if (state.began == 0 || stream_.shown[packet] < stream_.shown[state.began]) return;
    for (int n = packet - 1; !stream_.key[packet] && n >= key_before(packet); --n) {
      if (!has(state.written, n)) state.fault = 6;
    }
    state.decoder |= bit(packet);
  }

  int key_before(int packet) const {
    while (packet > 1 && !stream_.key[packet]) --packet;
    return packet;
  }

  // The next frame that comes out of the decoder; 0: none.
  int next_frame(const State& state) const {
    int first = 0;
    int held = 0;
    for (int n = 1; n <= stream_.packets; ++n) {
      if (!has(state.decoder, n)) continue;
      ++held;
      if (first == 0 || stream_.shown[n] < stream_.shown[first]) first = n;
    }
    return held > (state.drains != 0 ? 0 : reorder_delay) ? first : 0;
  }

  template <typename Emit>
  void hand_on(const State& state, Emit& emit) const {
    State next = state;
    const int frame = next_frame(state);
    if (frame == 0) {
      if (state.drains != 0) {
        begin_look(next);
        next.reading = ReaderAt::ended;
        return emit(Step{"reader", -1, "ends"}, next);
      }
      begin_look(next);
      return emit(Step{"reader", -1, "looks for the next packet"}, next);
    }
    const int place = place_of(state, frame);
    const bool key = stream_.key[frame];
    int through = key ? place - 1 : 0;
    if (is(Mutant::releases_the_key_frame) && key) through = place;
    if (is(Mutant::releases_at_any_frame_behind_it))
      through = std::max(through, place_of(state, key_before(frame)) - 1);
    next.decoder = narrow(state.decoder & ~bit(frame));
    if (stream_.shown[frame] <= state.handed_on && !is(Mutant::successor_hands_on_again)) {
      if (through > state.released) begin_release(next, through);
      return emit(Step{"reader", -1, "leaves out frame", frame}, next);
    }
    if (has(state.frames, frame) || stream_.shown[frame] <= state.handed_on) next.fault = 2;
    next.frames |= bit(frame);
    next.handed_on = narrow(stream_.shown[frame]);
    if (through > state.released) begin_release(next, through);
    emit(Step{"reader", -1, "hands on frame", frame}, next);
  }

  // Of a packet in the ring's order, from 1.
  static int place_of(const State& state, int packet) {
    int place = 0;
    for (int n = 1; n <= packet; ++n) place += has(state.written, n) ? 1 : 0;
    return place;
  }

  // ---- giving back

  void begin_release(State& state, int through) const {
    state.to_release = narrow(through);
    state.reading = is(Mutant::wakes_before_it_releases) ? ReaderAt::release_look : ReaderAt::release;
  }

  template <typename Emit>
  void release(const State& state, Emit& emit) const {
    State next = state;
    const bool wakes_first = is(Mutant::wakes_before_it_releases);
    switch (state.reading) {
      case ReaderAt::release:
        next.released = std::max(state.released, state.to_release);
        next.reading = ReaderAt::release_look;
        if (wakes_first) after_release(next);
        return emit(Step{"reader", -1, "gives back packets up to place", next.released}, next);
      case ReaderAt::release_look:
        next.reading = ReaderAt::release_room;
        if (state.writer_waits == 0) {
          next.reading = ReaderAt::release;
          if (!wakes_first) after_release(next);
        }
        return emit(Step{"reader", -1, "looks for a writer that waits"}, next);
      case ReaderAt::release_room:
        ++next.room;
        next.reading = ReaderAt::release_wake;
        return emit(Step{"reader", -1, "has room"}, next);
      case ReaderAt::release_wake:
        if (state.at == WriterAt::asleep) next.at = WriterAt::awake;
        next.reading = ReaderAt::release;
        if (!wakes_first) after_release(next);
        return emit(Step{"reader", -1, "wakes the writer"}, next);
      default:
        return;
    }
  }

  // Back to the frames of the packet; or, where room was asked for, to the next look.
  void after_release(State& state) const {
    state.to_release = 0;
    if (state.gives_up != 0) return begin_look(state);
    state.reading = ReaderAt::emit;
  }

  template <typename Emit>
  void answer(State next, Emit& emit) const {
    const bool is_new = next.seen_full_at == next.released + 1 || is(Mutant::answers_an_old_request);
    const bool asked = next.seen_full_at != 0 && is_new;
    const bool gives_up = (asked || is(Mutant::gives_up_unasked)) && next.released != next.cursor;
    if (!gives_up || is(Mutant::never_gives_up)) {
      next.reading = ReaderAt::show_sleep;
      return emit(Step{"reader", -1, "is asked for nothing"}, next);
    }
    if (next.head - next.released < stream_.room) next.fault = 4;
    next.gave_up = next.gives_up = 1;
    int through = next.cursor;
    bool key_is_kept = false;
    for (int place = next.cursor; place > next.released + 1; --place) {
      if (!is_key_at(next, place)) continue;
      key_is_kept = true;
      through = place - 1;
    }
    if (is(Mutant::gives_up_all)) through = next.cursor;
    if (key_is_kept && through == next.cursor) next.fault = 5;
    begin_release(next, through);
    emit(Step{"reader", -1, "gives up packets up to place", through}, next);
  }

  bool is_key_at(const State& state, int place) const {
    for (int n = 1; n <= stream_.packets; ++n) {
      if (has(state.written, n) && place_of(state, n) == place) return stream_.key[n];
    }
    return false;
  }

  // ---- deaths

  template <typename Emit>
  void die(const State& state, Emit& emit) const {
    State next = state;
    const bool lives = state.reading != ReaderAt::dead && state.reading != ReaderAt::ended;
    if (lives && state.deaths < 2) {
      kill_reader(next);
      emit(Step{"reader", -1, "is killed", -1, true}, next);
    }
    if (state.reading == ReaderAt::dead) {
      next = state;
      begin_look(next);
      next.cursor = is(Mutant::successor_begins_at_the_newest) ? state.head : state.released;
      emit(Step{"supervisor", -1, "starts a successor"}, next);
    }
    next = state;
    if (state.at != WriterAt::killed && state.at != WriterAt::over) {
      next.at = WriterAt::killed;
      next.packet = next.seen_released = next.seen_room = next.saw_sleeper = next.need_key = next.closes = 0;
      next.wake_lost = 0;
      emit(Step{"writer", -1, "is killed", -1, true}, next);
    }
    next = state;
    if (state.at == WriterAt::killed && state.is_marked == 0) {
      next.is_marked = 1;
      if (state.writing == Writing::open) next.writing = Writing::gone;
      if (!is(Mutant::goes_without_news)) {
        ++next.news;
        wake_reader(next);
      }
      emit(Step{"supervisor", -1, "marks the writer gone"}, next);
    }
  }

  void kill_reader(State& state) const {
    const std::uint8_t sleeps = state.reader_sleeps;  // it stays
    begin_look(state);
    state.reader_sleeps = sleeps;
    state.reading = ReaderAt::dead;
    state.cursor = state.decoder = state.began = state.drains = 0;
    ++state.deaths;
    if (state.gave_up != 0) state.may_lose = 1;
    const bool waits = state.at >= WriterAt::room_word && state.at <= WriterAt::asleep;
    state.wake_lost = waits ? 1 : 0;
  }

  Stream stream_;
  Mutant mutant_;
};

Verdict explore_ring(const Stream& stream, Mutant mutant) {
  Verdict verdict = explore(PacketRingModel(stream, mutant));
  std::cout << verdict << '\n';
  return verdict;
}

TEST(PacketRingModel, ADeathLosesNothingWhereTheRingHoldsWhatIsKept) {
  for (const Stream& stream : {open_groups, short_groups}) {
    const Verdict verdict = explore_ring(stream, Mutant::none);
    EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
  }
}

TEST(PacketRingModel, WhatIsLargerThanTheRingGoesThroughIt) {
  for (const Stream& stream : {small_ring, long_group}) {
    const Verdict verdict = explore_ring(stream, Mutant::none);
    EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
  }
}

struct Careless {
  Mutant mutant;
  Stream stream;
};

class CarelessPacketRingModel : public testing::TestWithParam<Careless> {};

TEST_P(CarelessPacketRingModel, IsFoundOut) {
  const Verdict verdict = explore_ring(GetParam().stream, GetParam().mutant);
  EXPECT_TRUE(verdict.outcome == Outcome::violation || verdict.outcome == Outcome::wrong_end) << verdict;
}

INSTANTIATE_TEST_SUITE_P(Mutants, CarelessPacketRingModel,
                         testing::Values(Careless{Mutant::releases_at_the_key_frame, open_groups},
                                         Careless{Mutant::releases_at_any_frame_behind_it, open_groups},
                                         Careless{Mutant::releases_the_key_frame, short_groups},
                                         Careless{Mutant::never_gives_up, long_group},
                                         Careless{Mutant::gives_up_unasked, open_groups},
                                         Careless{Mutant::gives_up_all, small_ring},
                                         Careless{Mutant::looks_for_requests_before_news, long_group},
                                         Careless{Mutant::answers_an_old_request, short_groups},
                                         Careless{Mutant::wakes_before_it_releases, short_groups},
                                         Careless{Mutant::asks_without_news, long_group},
                                         Careless{Mutant::looks_at_room_after_place, short_groups},
                                         Careless{Mutant::reuses_what_was_read, short_groups},
                                         Careless{Mutant::stores_head_before_it_fills, short_groups},
                                         Careless{Mutant::goes_on_in_the_midst, short_groups},
                                         Careless{Mutant::successor_begins_at_the_newest, short_groups},
                                         Careless{Mutant::successor_hands_on_again, short_groups},
                                         Careless{Mutant::loads_writer_after_head, short_groups},
                                         Careless{Mutant::goes_without_news, short_groups}));

}  // namespace CAMPIPE_FILE
}  // namespace campipe::model
