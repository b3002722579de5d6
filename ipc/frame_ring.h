// The frame ring: one camera's decoded frames, from one writer process to up to 16 reader processes, without
// a copy. Control words lie in one shared memory, pixels in another that readers map read-only.
//
// Protocol (docs/architecture.md; checked exhaustively in tests/model):
// - A slot's control word is one atomic {sequence | state | held | pending}, so that no death can tear it.
// - The writer claims a slot that is free, or published that no reader holds or awaits, and not used by the
//   decoder any more; fills it; publishes it with `pending` = the live readers; then the index entry; then head;
//   then wakes who sleeps.
// - A reader finds the slot of head through the index, turns its pending bit into a held bit by compare-exchange,
//   uses the pixels, and gives them back by storing the sequence into its own `done` word. The writer harvests
//   those words; it never waits for a reader's work, only (policy `block`) for room in the reader's queue.
// - A reader's seat is reserved for it by the supervisor, the only one that reserves; the reader makes it live, and may
//   leave it: it takes nothing more then, and the writer empties the seat when all that it held has been given back.
// - A reader that died is marked gone only when its process is gone; the writer's own thread takes its bits away.
// - The supervisor names the seats whose readers are required: a writer that waits for its readers waits for all of
//   those, before its first frame too, and for each one's successor.
// - No process trusts what another one wrote: each works with copies of its own of what the ring is, of its place in
//   it and of a record, and checks a copy before it uses it. The writer puts right what only it may write. Who finds
//   what cannot be reports it (Next::broken, on_faulty_reader), and reads or waits no more.
// - A ring is never repaired otherwise. When its writer died, readers finish what is published and get a ring of the
//   next epoch.
//
// Memory kinds: pixels of kind `host` lie in shared memory, those of the CUDA kinds on a GPU; the control memory is
// the same for all. What a GPU fills is published as soon as the fill is enqueued, and a ready signal orders the rest:
// `ipc_event`, one interprocess CUDA event a slot, or `timeline`, a page-locked word a slot that the writer's stream
// sets to the number of the fill. The same stream order gives slots back: a reader that works on a stream has its
// `done` word written by that stream. So neither process ever waits on a GPU for the other. What is in no event and no
// timeline yet when the writer dies never gets ready: see FrameRingReader::release_waits(). A writer that lives on
// keeps a ring that a GPU filled until it is drained(): what readers map and wait for is the writer's.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "core/clock.h"
#include "core/frame.h"
#include "core/gpu.h"
#include "ipc/shared_memory.h"

namespace campipe {

inline constexpr unsigned max_ring_readers = 16;
inline constexpr unsigned max_ring_slots = 64;

namespace ring {
struct Description;
struct Header;
struct Control;
enum class SlotState : std::uint8_t;
enum class WriterSleep : std::uint32_t;
}  // namespace ring

// empty → reserved (supervisor) → live (reader) → leaving (reader) → empty (writer); from any of the three in between
// → gone (supervisor) → empty (writer).
enum class ReaderState : std::uint32_t { empty, reserved, live, leaving, gone };
enum class WriterState : std::uint32_t { open, closed, gone };

// What is known of the frame in a slot, and where its planes lie in the slot's bytes.
struct FrameRecord {
  FrameFormat format;
  std::array<std::uint32_t, 3> offset{};
  std::array<std::int32_t, 3> stride{};
  FrameTimes times;
  FrameMetadata metadata = {};
  // Set by publish(): how its slot's fill gets ready, and (`timeline`) the value that shows it.
  ReadySignal ready = ReadySignal::immediate;
  std::uint64_t fill = 0;
  // Of the frame that it was made of, as its source counts, over all epochs of all rings on its way.
  std::uint64_t source_number = 0;
  // Of a source's: by which that knows the packet that it came in; -1: it does not.
  std::int64_t packet = -1;
};

// The frames of one ring that were meant for a seat's newest reader, by their sequence: from `first` to `last`, without
// gaps; 0: none yet. What is neither recalled nor pending was taken by it.
struct SeatFrames {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t recalled = 0;  // taken back by the writer, as its queue was full or it left
  std::uint32_t tenure = 0;    // counts the seat's readers that the writer has seen; this is the newest one's
  [[nodiscard]] std::uint32_t meant() const { return first == 0 ? 0 : last - first + 1; }
};

// What the frames of a ring are made of, where they are bands: each has all rows of a part of a frame, which nodes of
// other bands make the rest of (stages/filters/tile_parts.h). Both as the source's ring has them.
struct BandSource {
  FrameFormat format{};  // of no size: the frames are whole
  std::int32_t rotation = 0;
  friend bool operator==(const BandSource&, const BandSource&) = default;
};

struct FrameRingSpec {
  unsigned slots = 4;
  std::size_t slot_bytes = 0;
  std::uint64_t epoch = 1;
  std::uint64_t base = 0;  // frames published in the camera's earlier epochs
  MemoryKind memory = MemoryKind::host;
  Device device{};  // the GPU that the pixels lie on; for host memory that a GPU fills, this GPU
  // For fills by a GPU; see FrameRingWriter::filled(). `immediate`: the writer publishes only what is
  // complete; of host memory, readers then need no GPU.
  ReadySignal ready = ReadySignal::immediate;
  FrameFormat expected{};  // what its frames will be, as far as is known; see expected()
  BandSource band_source{};
  // From here on the ring is exhausted(): well before the 30 bits wrap, so that its writer can wait for a key frame.
  std::uint32_t last_sequence = (1U << 30) - (1U << 20);
};

class GpuPixels;
class ReadySignals;

// A ring's mappings in this process. Shared by a writer, reader or observer and by the leases they gave out.
class FrameRingMemory {
 public:
  enum class Role : std::uint8_t { writer, reader, observer };
  // The writer's. Throws GpuError where the GPU has no room, or not this kind of memory.
  static std::shared_ptr<FrameRingMemory> create(const FrameRingSpec& spec);
  // Maps a ring of another process; `pixels` is none for memory that needs no descriptor (cuda_legacy). Throws Error
  // when it is not one of this version or cannot be mapped. An observer maps no pixels and never touches CUDA.
  // `gpu`: what a reader will use the pixels with; the CPU: by itself, which only host memory filled by a CPU can be.
  // With a GPU this takes milliseconds, and so does dropping it: neither belongs on a camera's thread.
  static std::shared_ptr<FrameRingMemory> open(UniqueFd control, UniqueFd pixels, Role role, const Device& gpu = {});

  [[nodiscard]] ring::Header& header() const { return *header_; }
  // As it was when the ring was opened, and checked: no other process can change it.
  [[nodiscard]] const ring::Description& description() const { return *description_; }
  [[nodiscard]] std::span<std::uint8_t> pixels(unsigned slot) const;
  [[nodiscard]] int control_fd() const { return control_fd_.get(); }
  [[nodiscard]] int pixel_fd() const { return pixel_fd_.get(); }  // -1: none is needed
  // An observer's; then there is no pixel_fd().
  void forget_pixels() { pixel_fd_ = {}; }
  [[nodiscard]] MemoryKind kind() const;
  [[nodiscard]] ReadySignal ready_signal() const;  // of what a GPU fills; see FrameRingSpec
  [[nodiscard]] unsigned slots() const;
  // What frames to make ready for, before the first one comes; of no size where that is not known. Each frame has
  // a format of its own.
  [[nodiscard]] const FrameFormat& expected() const;
  [[nodiscard]] const BandSource& band_source() const;
  // Null where no GPU uses the ring.
  [[nodiscard]] ReadySignals* signals() const { return signals_.get(); }

 private:
  void create_pixels();
  void page_lock_for(const Device& gpu);
  void create_gpu_part();
  void open_pixels(const Device& gpu);
  void open_gpu_part(const Device& gpu);
  [[nodiscard]] std::size_t pixel_size() const;

  // Each uses what stands above it.
  UniqueFd control_fd_;
  UniqueFd pixel_fd_;
  Mapping control_;
  ring::Header* header_ = nullptr;
  std::shared_ptr<const ring::Description> description_;
  Mapping pixels_;                         // host memory
  std::shared_ptr<const void> page_lock_;  // of host memory that a GPU uses
  std::shared_ptr<GpuPixels> gpu_pixels_;  // the CUDA kinds
  std::span<std::uint8_t> pixel_bytes_;    // of either
  std::shared_ptr<ReadySignals> signals_;
};

// The writer. claim() and unpin() may be called from any thread (decoders have threads of their own), the
// others from the camera's ingest thread, or from the thread that looks after the ring once that one has ended.
//
// It has more functions than other classes: whatever a decoder, a reader's death and publishing do, they do to the same
// control words, under the same mutex and by the same invariants (checked in tests/model). Parts would share all of its
// state.
class FrameRingWriter {
 public:
  struct Slot {
    unsigned index = 0;
    std::span<std::uint8_t> pixels;  // the writer's own mapping: of a CUDA kind, only its GPU can use it
  };
  enum class Published : std::uint8_t { yes, no_reader };
  // blocking: those with that policy, and those that are to be awaited (FrameRingReader::Heed). Of all, those that are
  // unheeded are left out.
  enum class Readers : std::uint8_t { blocking, all };

  explicit FrameRingWriter(std::shared_ptr<FrameRingMemory> memory);
  // Called, by the thread that finds it, when a reader wrote what only the writer may write. Before the first reader.
  void on_faulty_reader(std::function<void()> handler) { on_faulty_reader_ = std::move(handler); }

  // A slot to fill, pinned until unpin(); nothing if all are in use, which is what one is whose last fill by the GPU
  // has not completed. The lowest free one, to stay in the caches.
  std::optional<Slot> claim();
  // The same, waiting for one until `deadline` or until `interrupted`, as wait_for_room().
  std::optional<Slot> claim_by(Deadline deadline, const std::function<bool()>& interrupted);
  // The decoder lets go of a slot: for good if it was never published.
  void unpin(unsigned slot);
  // CUDA only. All that fills the claimed slot has been enqueued on `stream`: records the ring's ready signal behind
  // it. Before publish(); a slot for which it was not called counts as filled already (by the CPU).
  void filled(unsigned slot, GpuStream stream);
  // True while the slot has been claimed and not yet published.
  [[nodiscard]] bool unpublished(unsigned slot) const;

  // These wait until there is a live reader and no required one is missing, or until there is room in the queue of
  // every one of `readers`; at most until `deadline` or until `interrupted` (asked every 100 ms). False: there is none.
  bool wait_for_reader(Deadline deadline, const std::function<bool()>& interrupted);
  bool wait_for_room(Deadline deadline, const std::function<bool()>& interrupted, Readers readers = Readers::blocking);
  // Makes a claimed slot visible to the live readers, pending in each one's queue. Where a queue is full, its oldest
  // frames are taken back first, which the seat counts (SeatFrames). With no live reader nothing is published.
  Published publish(unsigned slot, const FrameRecord& record);

  // Nothing will be published any more of source frames up to this number: who joins the frames of several rings waits
  // for none of them. Published ones are so at once.
  void resolve(std::uint64_t source_number);

  // Takes away what readers that are gone still held, and empties the seats of those that left. Must be called between
  // frames, at least every 100 ms.
  void service();
  // Sleeps until `deadline`, serving; returns early when `interrupted` returns true (asked every 100 ms).
  void sleep_until(Deadline deadline, const std::function<bool()>& interrupted);
  // The sequence is near its end: this ring must be closed and one of the next epoch begun.
  [[nodiscard]] bool exhausted() const;
  // No frame will come any more; readers end once they have read everything. Idempotent.
  void close();
  // Nothing is pending, and all that was leased has been given back. Ask with a deadline: a reader may take its time.
  [[nodiscard]] bool drained();

  [[nodiscard]] const FrameRingMemory& memory() const { return *memory_; }

 private:
  void service_locked();
  void reclaim(unsigned reader);
  void see_off(unsigned reader);
  void forget_seat(unsigned reader);
  void harvest(unsigned slot);
  void audit();
  ring::Control look(unsigned slot);
  void let_go(unsigned slot, std::uint16_t held, std::uint16_t pending);
  bool claimable(unsigned slot);
  void recall_oldest(unsigned reader);
  [[nodiscard]] std::uint16_t recalled_with(unsigned reader);
  bool recall_oldest(std::uint16_t readers, std::uint16_t back);
  std::uint32_t live_mask();
  [[nodiscard]] bool has_readers();
  void record_seat(unsigned reader);
  [[nodiscard]] unsigned pending_count(unsigned reader) const;
  [[nodiscard]] bool has_room(Readers readers);
  bool wait_for(const std::function<bool()>& satisfied, Deadline deadline, const std::function<bool()>& interrupted);
  void nap(Deadline deadline, ring::WriterSleep reason, const std::function<bool()>& satisfied);

  std::shared_ptr<FrameRingMemory> memory_;
  mutable std::mutex mutex_;  // between this process's threads only; no other process ever waits for it
  // What the control words and the header must be, but for what readers change there.
  struct OwnSlot {
    std::uint32_t sequence = 0;
    ring::SlotState state{};
    std::uint16_t readers = 0;  // those that may still have it held or pending
  };
  // As a reader that is live has set them when it came.
  struct Settings {
    bool live = false;
    unsigned queue_size = 1;
    SeatFrames frames;
  };
  std::array<OwnSlot, max_ring_slots> own_{};
  std::array<Settings, max_ring_readers> settings_{};
  std::uint32_t head_ = 0;
  std::uint64_t resolved_ = 0;
  bool closed_ = false;
  std::function<void()> on_faulty_reader_ = [] {};
  std::array<bool, max_ring_slots> pinned_{};
  std::array<std::uint64_t, max_ring_slots> fill_{};  // of the newest claim, by a GPU; 0: by the CPU
};

// A reader. Used by one thread, except that leases may be dropped by any thread.
class FrameRingReader {
 public:
  // broken: what is in the ring cannot be; no frame is taken from it any more.
  enum class Next : std::uint8_t { frame, timeout, ended, writer_gone, broken };

  struct Lease {
    FrameRef frame;  // the slot's pixels, read-only; given back with the last copy of frame.owner
    FrameTimes times;
    ReadySignal ready = ReadySignal::immediate;
    std::uint64_t number = 0;         // over all epochs, from 1
    std::uint64_t source_number = 0;  // see FrameRecord
    unsigned slot = 0;
    std::uint64_t fill = 0;  // see FrameRecord
  };

  // `spin`: how long to look before sleeping.
  FrameRingReader(std::shared_ptr<FrameRingMemory> memory, unsigned reader,
                  std::chrono::nanoseconds spin = std::chrono::microseconds(2));
  // From here on, frames are published to this reader. Its seat must have been reserved (FrameRingObserver); where it
  // is not, next() returns `broken`.
  void attach(bool blocking, unsigned queue_size);
  // Until it says otherwise: how the writer meets a full queue of this reader, whatever its policy is. Before attach(),
  // or later. `usual`: as attach() said. `unheeded`: it is not waited for, since what it misses is no loss. `awaited`:
  // with the policy drop, too, its writer waits for it, if it knows for how long (wait_for_room()).
  enum class Heed : std::uint8_t { usual, unheeded, awaited };
  void set_heed(Heed heed);
  // No frame is published to this reader any more, and what waits for it is taken back; next() must not be called
  // again. Leases that are still out are given back as ever, and then the seat gets empty.
  void leave();
  // CUDA only. What is enqueued on `stream` from now on sees the lease's pixels complete, and when the last copy of
  // frame.owner is dropped, the slot is given back behind all that is enqueued on `stream` at that moment. `stream`
  // must outlive the lease. A lease with a ReadySignal other than `immediate` must be used in this way.
  void use_on(GpuStream stream, Lease& lease);
  // CUDA only, once the writer is gone: lets go streams that wait for a fill that will never come (its pixels are
  // rubbish). False where that cannot be: with `ipc_event` they wait until this process ends.
  bool release_waits();
  // No frame will come that is made of a source frame up to this one: as far as was known when next() returned last.
  // Not checked: what another process wrote.
  [[nodiscard]] std::uint64_t resolved() const { return resolved_; }
  // Frames that next() has handed out.
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  // The next frame, waiting for it until `deadline`, or until resolved() grows. ended and writer_gone come only after
  // every published frame.
  Next next(Lease& lease, Deadline deadline);

 private:
  enum class Taken : std::uint8_t { frame, none, broken };
  Taken take(std::uint32_t sequence, Lease& lease);
  Next take_newer(std::uint32_t head, Lease& lease);
  void wait_for_news(std::uint32_t news, Deadline deadline);
  void store_wait();

  std::shared_ptr<FrameRingMemory> memory_;
  unsigned reader_;
  std::chrono::nanoseconds spin_;
  std::uint32_t cursor_ = 0;
  std::uint64_t resolved_ = 0;
  std::uint64_t taken_ = 0;
  bool broken_ = false;
  bool blocking_ = false;
  Heed heed_ = Heed::usual;
};

// What the supervisor sees of a ring and does to it when a process has died. Any thread.
class FrameRingObserver {
 public:
  explicit FrameRingObserver(std::shared_ptr<FrameRingMemory> memory) : memory_(std::move(memory)) {}

  // A seat for a reader that is to be sent the ring; nothing if all are taken. None of `except` (bit r: seat r). Only
  // the supervisor reserves.
  std::optional<unsigned> reserve(std::uint32_t except = 0);
  // The seats (bit r: seat r) whose readers the writer has to wait for.
  void require(std::uint32_t seats);
  // The seats whose readers need the same frames, or none: what the writer takes back from the queue of one of them, it
  // takes back from all, as far as they have not taken it.
  void keep_together(std::uint32_t seats);
  [[nodiscard]] ReaderState reader_state(unsigned reader) const;
  // Of the reader that has, or had last, this seat. Who reserves it anew finds that one's until the writer has seen the
  // new reader, which has another `tenure`. Until the writer is gone, the newest frame may be missing in it.
  [[nodiscard]] SeatFrames frames_of(unsigned reader) const;
  // Frames in the queue of this seat's reader now: never more than the ring has slots, whatever others write there.
  [[nodiscard]] unsigned pending_for(unsigned reader) const;
  [[nodiscard]] WriterState writer_state() const;
  // Only once the reader's process is gone (its pidfd is readable), or when it was never sent the ring.
  void mark_reader_gone(unsigned reader);
  // Only once the writer's process is gone.
  void mark_writer_gone();
  // Marks all readers gone but those that were sent the ring, and are alive (bit r: seat r).
  void turn_out_strangers(std::uint32_t readers);
  // Frames published in this and all earlier epochs; and in the earlier ones alone.
  [[nodiscard]] std::uint64_t published() const;
  [[nodiscard]] std::uint64_t base() const;
  // The time of the newest published frame; nothing if there is none in this epoch.
  [[nodiscard]] std::optional<std::int64_t> last_pts() const;
  // The packet that it came in (FrameRecord); likewise.
  [[nodiscard]] std::optional<std::int64_t> last_packet() const;

  // No process will be given the ring any more: its pixels are free when the last process has let go.
  void forget_pixels() { memory_->forget_pixels(); }

  [[nodiscard]] const FrameRingMemory& memory() const { return *memory_; }

 private:
  std::shared_ptr<FrameRingMemory> memory_;
};

}  // namespace campipe
