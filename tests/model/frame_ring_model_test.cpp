// The frame ring's protocol, explored exhaustively: one writer, one reader that blocks it and one that drops frames,
// two slots, three frames, an index of two entries (so that a slow reader is lapped). Any reader may be killed at any
// step, its device goes on reading a while after, and a successor takes its seat; one may also leave, while its device
// still reads, and a successor comes; the writer may be killed as well, and may have to wait for a required reader. A
// third reader, with fewer frames, may come at any time, as where a node moves, and drops frames.
// Shows, for every order of steps,
//  - what a reader reads is its frame, from the lease to the end of the reading,
//  - it leases each frame at most once, in growing order, and only after the frame's head was published,
//  - a reader that blocks gets every frame from the first that was published for it,
//  - nobody waits for ever: all frames get written while the writer lives, and when it is gone its readers end
//    after the last frame it published,
//  - nothing of a reader that died or left stays behind in the slots, and its seat gets empty,
//  - a required reader gets the very first frame,
// and that the exploration would see it if it were otherwise: each careless variant of the protocol is found out.
//
// A step is one access to shared memory, together with what follows from it locally. A lease counts as reading from
// the moment it is taken until its `done` is stored, which is more than the code does.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>

#include "tests/model/explore.h"
#include "tests/unit/sanitized.h"

namespace campipe::model {
namespace CAMPIPE_FILE {

constexpr int slot_count = 2;
constexpr int blocking_reader = 0;  // the writer waits for it; from the other it takes back what is not leased yet
constexpr int first_spare_reader = 2;
constexpr int most_frames = 3;
constexpr int index_size = 2;
constexpr std::uint8_t torn = 0xff;

enum class Mutant {
  none,
  reclaims_at_socket_close,        // the process's socket closes while its device still reads
  no_sequence_check,               // a reader takes whatever frame the slot now has
  lives_before_loading_head,       // a frame published in between is pending, but behind the cursor
  head_before_published,           // a reader that is quick skips the frame for ever
  no_fill_check,                   // a slot is filled again while its last fill still runs
  reclaim_forgets_pending,         // a dead reader's frame is never free again
  successor_before_seat_is_empty,  // its predecessor's bits are still in the slots, or its own get cleared
  ends_without_looking_again,      // the writer published once more before it died
  empties_a_leaving_seat_at_once,  // the device of the reader that leaves still reads
  waits_for_one_that_leaves,       // what is pending for it is never taken
  begins_without_required_reader,  // the first frames are lost for it
};

// How the writer fills a slot: it is done before it publishes (host memory), or publishes when the fill is enqueued
// on a device, and readers wait for that (a ready signal).
enum class Fill { before_publishing, behind_publishing };

enum SlotState : std::uint8_t { slot_free, slot_writing, slot_published };

struct Control {
  std::uint8_t sequence : 4;
  std::uint8_t state : 4;
  std::uint8_t held : 4;
  std::uint8_t pending : 4;
  friend bool operator==(const Control&, const Control&) = default;
};

struct Slot {
  Control control;
  std::uint8_t content;  // the frame that a read finds now, or `torn`
  std::uint8_t filling;  // the frame that a device is filling in; 0: none. The ready signal is that it is 0 again
  std::uint8_t overlap;  // mutant: an earlier fill was still running when this one began
};

struct IndexEntry {
  std::uint8_t sequence : 4;
  std::uint8_t slot : 4;
};

enum class Seat : std::uint8_t { empty, reserved, live, leaving, gone };

enum class Process : std::uint8_t {
  running,
  killed,  // takes no step more, but its device may go on
  gone,    // the kernel says so: nothing of it acts any more
  buried,  // and the supervisor has told the ring
  left,    // by itself: it takes nothing more, but its device may still read what it has
};

enum class ReaderAt : std::uint8_t {
  attach_first,   // loads head
  attach_second,  // sits down
  load_head,
  await_change,     // has taken all there was: waits for head or for the end of the writer
  load_head_again,  // the writer is gone: what did it publish last?
  load_index,
  load_control,
  lease,
  await_ready,
  reading,
  ended,
};

struct Reader {
  Process process;
  ReaderAt at;
  std::uint8_t cursor;  // the last frame that it is through with
  std::uint8_t slot;
  Control seen;
  // What is known of this incarnation, for checking only; 0: none yet.
  std::uint8_t last_leased;
  std::uint8_t first_owed;  // the first frame that was published for it
};

enum class WriterAt : std::uint8_t {
  between_frames,
  harvest,
  recall,
  reclaim_load,
  reclaim_exchange,
  reclaim_done,
  reclaim_seat,
  claim,
  load_seats,
  begin_pixels,
  end_pixels,
  publish,
  store_index,
  store_head,
};

struct Writer {
  Process process;
  WriterAt at;
  std::uint8_t sequence;  // of the frame in work, or the last one
  std::uint8_t slot;
  std::uint8_t reader;
  std::uint8_t live;  // the mask of the seats found live for this frame
  Control seen;
};

enum class Fault : std::uint8_t { none, out_of_order, ahead_of_head, missed };

struct Options {
  Mutant mutant = Mutant::none;
  Fill fill = Fill::before_publishing;
  int frames = most_frames;
  int reader_deaths = 2;
  int writer_deaths = 0;
  int leaves = 0;         // of readers
  bool required = false;  // the reader that blocks: no frame without it
};

template <int reader_count>
class FrameRingModel {
 public:
  struct State {
    std::array<Slot, slot_count> slots;
    std::array<std::array<std::uint8_t, slot_count>, reader_count> done;
    std::array<IndexEntry, index_size> index;
    std::uint8_t head;
    std::array<Seat, reader_count> seats;
    std::uint8_t writer_gone;  // in shared memory, set by the supervisor
    std::array<Reader, reader_count> readers;
    Writer writer;
    std::uint8_t reader_deaths_left;
    std::uint8_t writer_deaths_left;
    std::uint8_t leaves_left;
    Fault fault;  // seen in the step that led here
  };

  explicit FrameRingModel(const Options& options) : options_(options) {}

  State initial() const {
    State state{};
    state.reader_deaths_left = static_cast<std::uint8_t>(options_.reader_deaths);
    state.writer_deaths_left = static_cast<std::uint8_t>(options_.writer_deaths);
    state.leaves_left = static_cast<std::uint8_t>(options_.leaves);
    state.seats.fill(Seat::reserved);
    for (int r = first_spare_reader; r < reader_count; ++r) {
      state.seats[r] = Seat::empty;
      state.readers[r] = dead(Process::buried);
    }
    return state;
  }

  template <typename Emit>
  void each_step(const State& state, Emit&& emit) const {
    if (state.writer.process == Process::running) write(state, emit);
    for (int r = 0; r < reader_count; ++r) {
      if (state.readers[r].process == Process::running) read(state, r, emit);
      if (state.readers[r].process == Process::left && uses_pixels(state.readers[r])) take_frame(state, r, emit);
      leave(state, r, emit);
      run_device_of_dead(state, r, emit);
      supervise_reader(state, r, emit);
    }
    fill_slots(state, emit);
    supervise_writer(state, emit);
    kill(state, emit);
  }

  const char* violation(const State& state) const {
    switch (state.fault) {
      case Fault::none:
        break;
      case Fault::out_of_order:
        return "a frame was leased twice or out of order";
      case Fault::ahead_of_head:
        return "a frame was leased whose head was not published";
      case Fault::missed:
        return "a reader that blocks missed a frame";
    }
    for (int r = 0; r < reader_count; ++r) {
      const Reader& reader = state.readers[r];
      if (is_reading(reader) && state.slots[reader.slot].content != reader.cursor + 1) {
        return "a reader reads what is not, or no longer, its frame";
      }
      if (state.seats[r] == Seat::empty && has_bits(state, r)) return "an empty seat has leases or pending frames";
    }
    return nullptr;
  }

  const char* wrong_end(const State& state) const {
    const bool writer_lives = state.writer.process == Process::running;
    const bool all_written = state.writer.sequence == options_.frames && state.writer.at == WriterAt::between_frames;
    if (writer_lives && !all_written) return "the writer waits for ever";
    if (!writer_lives && state.writer_gone == 0) return "the writer's death was not told";
    for (int r = 0; r < reader_count; ++r) {
      const Reader& reader = state.readers[r];
      if (reader.process == Process::left) {
        if (uses_pixels(reader)) return "a reader that left never gave back its frame";
        if (writer_lives && state.seats[r] != Seat::empty) return "the seat of a reader that left is never empty";
        continue;
      }
      if (reader.process != Process::running) {
        if (reader.process != Process::buried || state.seats[r] == Seat::live) return "a reader's death was not told";
        if (writer_lives && state.seats[r] != Seat::empty) return "a dead reader's seat was not reclaimed";
        continue;
      }
      if (reader.at != (writer_lives ? ReaderAt::await_change : ReaderAt::ended)) return "a reader waits for ever";
      if (reader.cursor != state.head) return "a reader ended before the last frame";
      const bool owed = reader.first_owed != 0 && reader.first_owed <= state.head;
      if (r == blocking_reader && owed && reader.last_leased != state.head)
        return "a reader that blocks missed a frame";
      if (writer_lives && keeps_slot(state, r)) return "a slot is never free again";
    }
    return nullptr;
  }

 private:
  static std::uint8_t bit(int reader) { return static_cast<std::uint8_t>(1 << reader); }
  static std::uint8_t narrow(int number) { return static_cast<std::uint8_t>(number); }
  bool is(Mutant mutant) const { return options_.mutant == mutant; }

  // ---- what is checked

  static bool is_reading(const Reader& reader) {
    const bool acts =
        reader.process == Process::running || reader.process == Process::killed || reader.process == Process::left;
    return acts && reader.at == ReaderAt::reading;
  }

  static bool uses_pixels(const Reader& reader) {
    return reader.at == ReaderAt::await_ready || reader.at == ReaderAt::reading;
  }

  static bool has_bits(const State& state, int r) {
    for (const Slot& slot : state.slots) {
      if (((slot.control.held | slot.control.pending) & bit(r)) != 0) return true;
    }
    return false;
  }

  // At the end: all has been read and harvested, but a frame may still be pending for a reader that drops, where it was
  // lapped. The writer would take it back if it had another frame.
  static bool keeps_slot(const State& state, int r) {
    for (const Slot& slot : state.slots) {
      if ((slot.control.held & bit(r)) != 0) return true;
      if (r == blocking_reader && (slot.control.pending & bit(r)) != 0) return true;
    }
    return false;
  }

  // ---- the writer

  template <typename Emit>
  void write(const State& state, Emit& emit) const {
    switch (state.writer.at) {
      case WriterAt::between_frames:
        return choose(state, emit);
      case WriterAt::harvest:
      case WriterAt::recall:
        return take_bit(state, emit);
      case WriterAt::reclaim_load:
      case WriterAt::reclaim_exchange:
      case WriterAt::reclaim_done:
      case WriterAt::reclaim_seat:
        return reclaim(state, emit);
      default:
        return write_frame(state, emit);
    }
  }

  // Between frames the writer may do any of this, in any order: the code is one of the orders.
  template <typename Emit>
  void choose(const State& state, Emit& emit) const {
    const bool has_more = state.writer.sequence < options_.frames;
    for (int r = 0; r < reader_count; ++r) {
      const bool at_once = state.seats[r] == Seat::leaving && is(Mutant::empties_a_leaving_seat_at_once);
      if (state.seats[r] == Seat::gone || at_once)
        go_to(state, WriterAt::reclaim_load, 0, r, "starts to reclaim from reader", emit);
      // What one that leaves has is looked at slot by slot; nobody adds to it meanwhile.
      if (state.seats[r] == Seat::leaving && !at_once && !has_bits(state, r))
        go_to(state, WriterAt::reclaim_done, 0, r, "finds nothing left of reader", emit);
    }
    for (int k = 0; k < slot_count; ++k) {
      const Slot& slot = state.slots[k];
      const Control& control = slot.control;
      for (int r = 0; r < reader_count; ++r) {
        const bool is_done = state.done[r][k] == control.sequence;
        if ((control.held & bit(r)) != 0 && is_done)
          go_to(state, WriterAt::harvest, k, r, "sees `done` of reader", emit);
        const bool leaves = state.seats[r] == Seat::leaving && !is(Mutant::waits_for_one_that_leaves);
        const bool may_recall = leaves || (r != blocking_reader && has_more);
        if ((control.pending & bit(r)) != 0 && may_recall) {
          go_to(state, WriterAt::recall, k, r, "sees a pending frame of reader", emit);
        }
      }
      const bool is_filled = slot.filling == 0 || is(Mutant::no_fill_check);
      const bool is_let_go = control.held == 0 && control.pending == 0;
      const bool has_required = !options_.required || state.seats[blocking_reader] == Seat::live ||
                                is(Mutant::begins_without_required_reader);
      if (has_more && has_required && is_let_go && is_filled)
        go_to(state, WriterAt::claim, k, 0, "finds slot free", emit, k);
    }
  }

  template <typename Emit>
  static void go_to(const State& state, WriterAt at, int slot, int reader, const char* what, Emit& emit, int of = -1) {
    State next = state;
    next.writer.at = at;
    next.writer.slot = narrow(slot);
    next.writer.reader = narrow(reader);
    if (at == WriterAt::harvest || at == WriterAt::recall) next.writer.seen = state.slots[slot].control;
    emit(Step{"writer", -1, what, of < 0 ? reader : of}, next);
  }

  // Back to a state in which nothing local is remembered, so that equal states are equal.
  static void rest(Writer& writer) {
    writer = {writer.process, WriterAt::between_frames, writer.sequence, 0, 0, 0, {}};
  }

  // Clears one bit of a slot's control by compare-exchange; when a reader was quicker, looks at everything anew.
  template <typename Emit>
  static void take_bit(const State& state, Emit& emit) {
    State next = state;
    const Writer& self = state.writer;
    Control& control = next.slots[self.slot].control;
    const bool unchanged = control == self.seen;
    const bool harvests = self.at == WriterAt::harvest;
    if (unchanged && harvests) control.held &= narrow(~bit(self.reader));
    if (unchanged && !harvests) control.pending &= narrow(~bit(self.reader));
    rest(next.writer);
    emit(Step{"writer", -1,
              !unchanged ? "finds the control changed"
              : harvests ? "harvests slot"
                         : "recalls slot",
              self.slot},
         next);
  }

  // A dead reader's bits, slot by slot, then its `done` row, and last its seat: only now can a successor come.
  template <typename Emit>
  void reclaim(const State& state, Emit& emit) const {
    State next = state;
    const Writer& self = state.writer;
    Writer& then = next.writer;
    switch (self.at) {
      case WriterAt::reclaim_load:
        then.seen = state.slots[self.slot].control;
        then.at = WriterAt::reclaim_exchange;
        return emit(Step{"writer", -1, "loads, to reclaim, the control of slot", self.slot}, next);
      case WriterAt::reclaim_exchange:
        return reclaim_slot(state, emit);
      case WriterAt::reclaim_done:
        next.done[self.reader] = {};
        then.at = WriterAt::reclaim_seat;
        return emit(Step{"writer", -1, "clears `done` of reader", self.reader}, next);
      default:
        next.seats[self.reader] = Seat::empty;
        rest(then);
        return emit(Step{"writer", -1, "empties the seat of reader", self.reader}, next);
    }
  }

  template <typename Emit>
  void reclaim_slot(const State& state, Emit& emit) const {
    State next = state;
    Writer& then = next.writer;
    Control& control = next.slots[then.slot].control;
    const bool unchanged = control == then.seen;
    then.seen = {};
    then.at = WriterAt::reclaim_load;
    if (unchanged) {
      control.held &= narrow(~bit(then.reader));
      if (!is(Mutant::reclaim_forgets_pending)) control.pending &= narrow(~bit(then.reader));
      if (++then.slot == slot_count) {
        then.slot = 0;
        then.at = WriterAt::reclaim_done;
      }
    }
    emit(Step{"writer", -1, unchanged ? "reclaims slot" : "finds changed the control of slot", state.writer.slot},
         next);
  }

  template <typename Emit>
  void write_frame(const State& state, Emit& emit) const {
    State next = state;
    Writer& then = next.writer;
    Slot& slot = next.slots[then.slot];
    switch (state.writer.at) {
      case WriterAt::claim:
        then.sequence++;
        then.at = WriterAt::load_seats;
        slot.control = {then.sequence, slot_writing, 0, 0};
        return emit(Step{"writer", -1, "claims a slot for frame", then.sequence}, next);
      case WriterAt::load_seats:
        if (state.seats[then.reader] == Seat::live) then.live |= bit(then.reader);
        if (++then.reader == reader_count) {
          then.reader = 0;
          then.at = WriterAt::begin_pixels;
        }
        return emit(Step{"writer", -1, "loads the seat of reader", state.writer.reader}, next);
      case WriterAt::begin_pixels:
        slot.content = torn;
        if (options_.fill == Fill::behind_publishing) {
          slot.overlap = slot.filling != 0 ? 1 : slot.overlap;
          slot.filling = then.sequence;
        }
        then.at = options_.fill == Fill::before_publishing ? WriterAt::end_pixels : after_pixels();
        return emit(Step{"writer", -1, "begins to fill frame", then.sequence}, next);
      case WriterAt::end_pixels:
        slot.content = then.sequence;
        then.at = after_pixels();
        return emit(Step{"writer", -1, "has filled frame", then.sequence}, next);
      default:
        return publish(state, emit);
    }
  }

  // One that dies or leaves at this moment misses the frame.
  bool is_to_be_required() const { return options_.required && options_.reader_deaths == 0 && options_.leaves == 0; }

  WriterAt after_pixels() const {
    return is(Mutant::head_before_published) ? WriterAt::store_index : WriterAt::publish;
  }

  template <typename Emit>
  void publish(const State& state, Emit& emit) const {
    State next = state;
    Writer& then = next.writer;
    const bool head_first = is(Mutant::head_before_published);
    switch (state.writer.at) {
      case WriterAt::publish:
        next.slots[then.slot].control = {then.sequence, slot_published, 0, then.live};
        for (int r = 0; r < reader_count; ++r) {
          Reader& reader = next.readers[r];
          const bool first = (then.live & bit(r)) != 0 && reader.first_owed == 0 && reader.process == Process::running;
          if (first) reader.first_owed = then.sequence;
        }
        if (is_to_be_required() && (then.live & bit(blocking_reader)) == 0) next.fault = Fault::missed;
        then.live = 0;
        then.at = WriterAt::store_index;
        if (head_first) rest(then);
        return emit(Step{"writer", -1, "publishes frame", state.writer.sequence}, next);
      case WriterAt::store_index:
        next.index[then.sequence % index_size] = {then.sequence, then.slot};
        then.at = WriterAt::store_head;
        return emit(Step{"writer", -1, "stores the index of frame", then.sequence}, next);
      default:
        next.head = then.sequence;
        then.at = WriterAt::publish;
        if (!head_first) rest(then);
        return emit(Step{"writer", -1, "stores head", next.head}, next);
    }
  }

  // ---- a reader

  template <typename Emit>
  void read(const State& state, int r, Emit& emit) const {
    switch (state.readers[r].at) {
      case ReaderAt::attach_first:
      case ReaderAt::attach_second:
        return attach(state, r, emit);
      case ReaderAt::load_head:
      case ReaderAt::await_change:
      case ReaderAt::load_head_again:
        return await_frame(state, r, emit);
      case ReaderAt::ended:
        return;
      default:
        return take_frame(state, r, emit);
    }
  }

  // Its cursor first, then the seat: what is published for it is then always ahead of the cursor.
  template <typename Emit>
  void attach(const State& state, int r, Emit& emit) const {
    const bool is_first = state.readers[r].at == ReaderAt::attach_first;
    const bool loads_head = is_first != is(Mutant::lives_before_loading_head);
    State next = state;
    Reader& then = next.readers[r];
    then.at = is_first ? ReaderAt::attach_second : ReaderAt::load_head;
    if (loads_head) {
      then.cursor = state.head;
      emit(Step{"reader", r, "attaches behind frame", state.head}, next);
    } else {
      next.seats[r] = Seat::live;
      emit(Step{"reader", r, "declares its seat live"}, next);
    }
  }

  // Whoever sees that the writer is gone must look at head once more: it may have moved since the last look.
  template <typename Emit>
  void await_frame(const State& state, int r, Emit& emit) const {
    const Reader& self = state.readers[r];
    State next = state;
    Reader& then = next.readers[r];
    if (self.at == ReaderAt::await_change) {
      const bool ends = is(Mutant::ends_without_looking_again);
      if (state.writer_gone != 0) {
        then.at = ends ? ReaderAt::ended : ReaderAt::load_head_again;
        emit(Step{"reader", r, "sees that the writer is gone"}, next);
      }
      if (state.head != self.cursor) {
        then.at = ReaderAt::load_head;
        emit(Step{"reader", r, "is woken by head", state.head}, next);
      }
      return;
    }
    const bool is_last_look = self.at == ReaderAt::load_head_again;
    const ReaderAt if_none = is_last_look ? ReaderAt::ended : ReaderAt::await_change;
    then.at = state.head > self.cursor ? ReaderAt::load_index : if_none;
    emit(Step{"reader", r, "loads head", state.head}, next);
  }

  template <typename Emit>
  void take_frame(const State& state, int r, Emit& emit) const {
    const Reader& self = state.readers[r];
    switch (self.at) {
      case ReaderAt::load_index:
        return load_index(state, r, emit);
      case ReaderAt::load_control:
        return load_control(state, r, emit);
      case ReaderAt::lease:
        return lease(state, r, emit);
      case ReaderAt::await_ready:
        return await_ready(state, r, emit);
      default:
        return give_back(state, r, emit);
    }
  }

  static void move_on(Reader& reader) {
    if (reader.process == Process::left) {
      reader = dead(Process::left);
      return;
    }
    reader.cursor++;
    reader.slot = 0;
    reader.seen = {};
    reader.at = ReaderAt::load_head;
  }

  template <typename Emit>
  static void load_index(const State& state, int r, Emit& emit) {
    State next = state;
    Reader& then = next.readers[r];
    const int wanted = then.cursor + 1;
    const IndexEntry entry = state.index[wanted % index_size];
    if (entry.sequence == wanted) {
      then.slot = entry.slot;
      then.at = ReaderAt::load_control;
      emit(Step{"reader", r, "finds in the index frame", wanted}, next);
    } else {
      move_on(then);
      emit(Step{"reader", r, "is lapped at frame", wanted}, next);
    }
  }

  template <typename Emit>
  void load_control(const State& state, int r, Emit& emit) const {
    State next = state;
    Reader& then = next.readers[r];
    const int wanted = then.cursor + 1;
    const Control control = state.slots[then.slot].control;
    const bool is_it = control.sequence == wanted || is(Mutant::no_sequence_check);
    if (control.state == slot_published && is_it && (control.pending & bit(r)) != 0) {
      then.seen = control;
      then.at = ReaderAt::lease;
      emit(Step{"reader", r, "finds pending frame", wanted}, next);
    } else {
      move_on(then);
      emit(Step{"reader", r, "skips frame", wanted}, next);
    }
  }

  template <typename Emit>
  void lease(const State& state, int r, Emit& emit) const {
    State next = state;
    Reader& then = next.readers[r];
    Control& control = next.slots[then.slot].control;
    if (control == then.seen) {
      control.pending &= narrow(~bit(r));
      control.held |= bit(r);
      check_lease(state, r, next);
      then.at = options_.fill == Fill::before_publishing ? ReaderAt::reading : ReaderAt::await_ready;
      emit(Step{"reader", r, "leases frame", then.cursor + 1}, next);
    } else {
      then.at = ReaderAt::load_control;
      emit(Step{"reader", r, "finds changed the control of slot", then.slot}, next);
    }
    then.seen = {};
  }

  static void check_lease(const State& state, int r, State& next) {
    Reader& then = next.readers[r];
    const std::uint8_t frame = narrow(then.cursor + 1);
    const int due = then.last_leased != 0 ? then.last_leased + 1 : then.first_owed;
    if (frame <= then.last_leased) next.fault = Fault::out_of_order;
    if (frame > state.head) next.fault = Fault::ahead_of_head;
    if (r == blocking_reader && frame != due) next.fault = Fault::missed;
    then.last_leased = frame;
  }

  // Only where a device fills: the frame is left out if the writer died before it was complete.
  template <typename Emit>
  static void await_ready(const State& state, int r, Emit& emit) {
    State next = state;
    Reader& then = next.readers[r];
    if (state.slots[then.slot].filling == 0) {
      then.at = ReaderAt::reading;
      emit(Step{"reader", r, "begins to read frame", then.cursor + 1}, next);
    } else if (state.writer_gone != 0) {
      const int frame = then.cursor + 1;
      next.done[r][then.slot] = narrow(frame);
      move_on(then);
      emit(Step{"reader", r, "gives up on a frame that nobody fills:", frame}, next);
    }
  }

  template <typename Emit>
  static void give_back(const State& state, int r, Emit& emit) {
    State next = state;
    Reader& then = next.readers[r];
    const int frame = then.cursor + 1;
    next.done[r][then.slot] = narrow(frame);
    move_on(then);
    emit(Step{"reader", r, "has read, and stores `done` for, frame", frame}, next);
  }

  // Between two frames, or with one that its device, or another thread, still uses.
  template <typename Emit>
  void leave(const State& state, int r, Emit& emit) const {
    const Reader& self = state.readers[r];
    const bool is_between = self.at == ReaderAt::load_head || self.at == ReaderAt::await_change;
    if (state.leaves_left == 0 || self.process != Process::running || !(is_between || uses_pixels(self))) return;
    State next = state;
    Reader& then = next.readers[r];
    next.leaves_left--;
    next.seats[r] = Seat::leaving;
    then.process = Process::left;
    if (is_between) then = dead(Process::left);
    emit(Step{"reader", r, "leaves", -1, true}, next);
  }

  // ---- devices

  template <typename Emit>
  void fill_slots(const State& state, Emit& emit) const {
    const bool acts = state.writer.process == Process::running || state.writer.process == Process::killed;
    for (int k = 0; k < slot_count && acts; ++k) {
      if (state.slots[k].filling == 0) continue;
      State next = state;
      Slot& slot = next.slots[k];
      slot.content = slot.overlap != 0 ? torn : slot.filling;
      slot.filling = 0;
      slot.overlap = 0;
      emit(Step{"writer's device", -1, "completes slot", k}, next);
    }
  }

  // What a killed reader had enqueued: reading when the frame is ready, and the store of `done`. Any of it may happen
  // before the process is really gone.
  template <typename Emit>
  static void run_device_of_dead(const State& state, int r, Emit& emit) {
    const Reader& self = state.readers[r];
    if (self.process != Process::killed) return;
    State next = state;
    Reader& then = next.readers[r];
    if (self.at == ReaderAt::await_ready && state.slots[self.slot].filling == 0) {
      then.at = ReaderAt::reading;
      emit(Step{"device of dead reader", r, "begins to read frame", self.cursor + 1}, next);
    }
    if (self.at == ReaderAt::reading) {
      next.done[r][self.slot] = narrow(self.cursor + 1);
      then = dead(Process::killed);
      emit(Step{"device of dead reader", r, "has read, and stores `done` for, frame", self.cursor + 1}, next);
    }
    next = state;
    then = dead(Process::gone);
    emit(Step{"kernel", -1, "has cleared away reader", r}, next);
  }

  // A process of which nothing acts any more; all alike.
  static Reader dead(Process process) { return {process, ReaderAt::ended, 0, 0, {}, 0, 0}; }

  // ---- the supervisor

  template <typename Emit>
  void supervise_reader(const State& state, int r, Emit& emit) const {
    const Process process = state.readers[r].process;
    State next = state;
    if (process == Process::gone) {
      if (state.seats[r] != Seat::empty) next.seats[r] = Seat::gone;
      next.readers[r].process = Process::buried;
      emit(Step{"supervisor", -1, "tells the ring that gone is reader", r}, next);
    }
    if (is(Mutant::reclaims_at_socket_close) && process == Process::killed && state.seats[r] == Seat::live) {
      next.seats[r] = Seat::gone;
      emit(Step{"supervisor", -1, "sees closed the socket of reader", r}, next);
    }
    const bool has_seat = state.seats[r] == Seat::empty || is(Mutant::successor_before_seat_is_empty);
    const bool is_away = process == Process::buried || (process == Process::left && !uses_pixels(state.readers[r]));
    if (is_away && has_seat && state.writer_gone == 0) {
      next = state;
      next.readers[r] = {};
      next.seats[r] = Seat::reserved;
      const bool must_come = options_.required && r == blocking_reader;
      emit(Step{"supervisor", -1, "starts a successor of reader", r, !must_come}, next);
    }
  }

  template <typename Emit>
  static void supervise_writer(const State& state, Emit& emit) {
    State next = state;
    if (state.writer.process == Process::killed) {
      next.writer.process = Process::gone;
      emit(Step{"kernel", -1, "has cleared away the writer"}, next);
    }
    if (state.writer.process == Process::gone) {
      next.writer.process = Process::buried;
      next.writer_gone = 1;
      emit(Step{"supervisor", -1, "tells the ring that the writer is gone"}, next);
    }
  }

  // ---- deaths

  template <typename Emit>
  static void kill(const State& state, Emit& emit) {
    for (int r = 0; r < reader_count && state.reader_deaths_left > 0; ++r) {
      const Reader& reader = state.readers[r];
      const bool device_works = uses_pixels(reader);
      if (reader.process != Process::running && !(reader.process == Process::left && device_works)) continue;
      State next = state;
      next.readers[r] = dead(Process::killed);
      if (device_works) {
        next.readers[r].at = reader.at;
        next.readers[r].slot = reader.slot;
        next.readers[r].cursor = reader.cursor;
      }
      next.reader_deaths_left--;
      emit(Step{"reader", r, "is killed", -1, true}, next);
    }
    if (state.writer_deaths_left > 0 && state.writer.process == Process::running) {
      State next = state;
      next.writer = {Process::killed, WriterAt::between_frames, 0, 0, 0, 0, {}};
      next.writer_deaths_left--;
      emit(Step{"writer", -1, "is killed", -1, true}, next);
    }
  }

  Options options_;
};

// Sanitizers make this ten times slower and larger, and what they look for does not grow with the model.
constexpr int frames_to_explore = test::is_sanitized ? 2 : most_frames;

template <int readers = 2>
Verdict explore_ring(Options options) {
  Verdict verdict = explore(FrameRingModel<readers>(options));
  std::cout << verdict << '\n';
  return verdict;
}

TEST(FrameRingModel, SurvivesTwoDeathsOfReaders) {
  const Verdict verdict = explore_ring({.frames = frames_to_explore, .reader_deaths = 2});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(FrameRingModel, SurvivesTheDeathOfTheWriterAndOfAReader) {
  const Verdict verdict = explore_ring({.frames = frames_to_explore, .reader_deaths = 1, .writer_deaths = 1});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(FrameRingModel, LetsReadersComeAndGo) {
  const Verdict verdict = explore_ring({.frames = frames_to_explore, .reader_deaths = 0, .leaves = 2});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(FrameRingModel, SurvivesADeathOfAReaderWhileOneLeaves) {
  const Verdict verdict = explore_ring({.frames = frames_to_explore, .reader_deaths = 1, .leaves = 1});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(FrameRingModel, SurvivesTheDeathOfTheWriterWhileAReaderLeaves) {
  const Verdict verdict =
      explore_ring({.frames = frames_to_explore, .reader_deaths = 0, .writer_deaths = 1, .leaves = 1});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(FrameRingModel, LetsAReaderLeaveWhereADeviceFills) {
  const Verdict verdict =
      explore_ring({.fill = Fill::behind_publishing, .frames = frames_to_explore, .reader_deaths = 0, .leaves = 1});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(FrameRingModel, BeginsWithItsRequiredReader) {
  const Verdict verdict = explore_ring({.frames = frames_to_explore, .reader_deaths = 0, .required = true});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(FrameRingModel, GoesOnWithTheSuccessorsOfItsRequiredReader) {
  const Verdict verdict =
      explore_ring({.frames = frames_to_explore, .reader_deaths = 1, .leaves = 1, .required = true});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(FrameRingModel, SurvivesADeathOfAReaderWhereADeviceFills) {
  const Verdict verdict =
      explore_ring({.fill = Fill::behind_publishing, .frames = frames_to_explore, .reader_deaths = 1});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(FrameRingModel, SurvivesTheDeathOfTheWriterWhereADeviceFills) {
  const Verdict verdict = explore_ring(
      {.fill = Fill::behind_publishing, .frames = frames_to_explore, .reader_deaths = 0, .writer_deaths = 1});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(FrameRingModel, LetsASpareReaderCome) {
  const Verdict verdict = explore_ring<3>({.frames = 2, .reader_deaths = 0});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(FrameRingModel, SurvivesADeathOfAReaderWhereASpareOneComes) {
  const Verdict verdict = explore_ring<3>({.frames = 1, .reader_deaths = 1});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

TEST(FrameRingModel, SurvivesTheDeathOfTheWriterWhereASpareReaderComes) {
  const Verdict verdict = explore_ring<3>({.frames = 1, .reader_deaths = 0, .writer_deaths = 1});
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict;
}

struct CarelessRing {
  const char* name;
  Options options;
  friend std::ostream& operator<<(std::ostream& out, const CarelessRing& of) { return out << of.name; }
};

class CarelessFrameRingModel : public testing::TestWithParam<CarelessRing> {};

TEST_P(CarelessFrameRingModel, IsFoundOut) {
  const Verdict verdict = explore_ring(GetParam().options);
  EXPECT_TRUE(verdict.outcome == Outcome::violation || verdict.outcome == Outcome::wrong_end) << verdict;
}

INSTANTIATE_TEST_SUITE_P(
    Mutants, CarelessFrameRingModel,
    testing::Values(
        CarelessRing{"ReclaimsAtSocketClose", {.mutant = Mutant::reclaims_at_socket_close, .reader_deaths = 1}},
        CarelessRing{"NoSequenceCheck", {.mutant = Mutant::no_sequence_check, .reader_deaths = 0}},
        CarelessRing{"LivesBeforeLoadingHead", {.mutant = Mutant::lives_before_loading_head, .reader_deaths = 0}},
        CarelessRing{"HeadBeforePublished", {.mutant = Mutant::head_before_published, .reader_deaths = 0}},
        CarelessRing{"NoFillCheck",
                     {.mutant = Mutant::no_fill_check, .fill = Fill::behind_publishing, .reader_deaths = 0}},
        CarelessRing{"ReclaimForgetsPending", {.mutant = Mutant::reclaim_forgets_pending, .reader_deaths = 1}},
        CarelessRing{"SuccessorBeforeSeatIsEmpty",
                     {.mutant = Mutant::successor_before_seat_is_empty, .reader_deaths = 1}},
        CarelessRing{"EndsWithoutLookingAgain",
                     {.mutant = Mutant::ends_without_looking_again, .reader_deaths = 0, .writer_deaths = 1}},
        CarelessRing{"EmptiesALeavingSeatAtOnce",
                     {.mutant = Mutant::empties_a_leaving_seat_at_once, .reader_deaths = 0, .leaves = 1}},
        CarelessRing{"WaitsForOneThatLeaves",
                     {.mutant = Mutant::waits_for_one_that_leaves, .reader_deaths = 0, .leaves = 1}},
        CarelessRing{"BeginsWithoutRequiredReader",
                     {.mutant = Mutant::begins_without_required_reader, .reader_deaths = 0, .required = true}}),
    [](const auto& of) { return of.param.name; });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::model
