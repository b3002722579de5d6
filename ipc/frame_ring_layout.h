// What lies in a frame ring's control memory. Only the frame ring's own files and their tests include this.
// The protocol is described in frame_ring.h and checked by tests/model/frame_ring_model_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "core/frame.h"
#include "ipc/frame_ring.h"
#include "ipc/gpu_pixels.h"
#include "ipc/shared_memory.h"

namespace campipe::ring {

inline constexpr std::uint32_t magic = 0x676e6972;  // "ring"
inline constexpr std::uint32_t layout_version = 13;
// More than the slots, so that the entry of a frame that waits in a slot is never overwritten.
inline constexpr unsigned index_size = 2 * max_ring_slots;

// Of a control word's 30 bits.
inline constexpr std::uint32_t largest_sequence = (1U << 30) - 1;

enum class SlotState : std::uint8_t { free = 0, writing = 1, published = 2 };

// A slot's control word: {sequence 30 | state 2 | held 16 | pending 16}.
struct Control {
  std::uint32_t sequence = 0;
  SlotState state = SlotState::free;
  std::uint16_t held = 0;     // bit r: reader r uses the pixels
  std::uint16_t pending = 0;  // bit r: reader r has not taken the frame yet

  static Control unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 34), static_cast<SlotState>(word >> 32 & 3),
            static_cast<std::uint16_t>(word >> 16), static_cast<std::uint16_t>(word)};
  }
  [[nodiscard]] std::uint64_t pack() const {
    return std::uint64_t{sequence} << 34 | static_cast<std::uint64_t>(state) << 32 | std::uint64_t{held} << 16 |
           pending;
  }
};

struct alignas(64) Slot {
  std::atomic<std::uint64_t> control;
  FrameRecord record;  // written before the slot is published, read only under a lease
};

// How readers learn that a GPU has filled a slot.
struct alignas(64) Fill {
  std::atomic<std::uint64_t> timeline;        // ReadySignal timeline: the number of the newest fill that is complete
  std::array<std::uint8_t, 64> event_handle;  // ReadySignal ipc_event: a cudaIpcEventHandle_t, written by create()
};

// What the writer sleeps for: only room and a new reader are worth waking it for; a death always wakes it.
enum class WriterSleep : std::uint32_t { awake, for_room, for_time };

// Whether a writer that waits for room waits for that of a reader: `burst`, only where it waits for all.
enum class ReaderWait : std::uint32_t { burst, always, never };

struct alignas(64) Reader {
  std::atomic<ReaderState> state;
  std::atomic<ReaderWait> wait;           // may change while it is live
  std::atomic<std::uint32_t> queue_size;  // frames that may be pending
  // SeatFrames: {tenure 32 | value 32} each, as SeatWord. The writer stores them in this order, before the frame can be
  // seen; who reads them in the opposite order finds other tenures where it sees two readers
  // (tests/model/seat_frames_model_test.cpp).
  std::atomic<std::uint64_t> first;
  std::atomic<std::uint64_t> recalled;
  std::atomic<std::uint64_t> last;
};

struct SeatWord {
  std::uint32_t tenure;
  std::uint32_t value;
  [[nodiscard]] std::uint64_t pack() const { return std::uint64_t{tenure} << 32 | value; }
  static SeatWord unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
  }
};

// What the ring is. The writer writes it once; all work with a copy (FrameRingMemory::description()).
struct Description {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t slots;
  MemoryKind memory;
  ReadySignal ready;     // of fills by a GPU
  Device device;         // see FrameRingSpec
  GpuHandle gpu_pixels;  // where the memory kind has one
  FrameFormat expected;
  BandSource band_source;
  std::uint64_t slot_bytes;
  std::uint64_t epoch;
  std::uint64_t base;           // frames published in the camera's earlier epochs
  std::uint32_t last_sequence;  // see FrameRingSpec
};

struct Header {
  Description description;
  alignas(64) std::atomic<std::uint32_t> head;  // sequence of the newest frame; 0: none yet
  std::atomic<WriterState> writer;
  std::atomic<std::uint32_t> news;  // futex of readers: grows with every publish, close and death
  alignas(64) std::atomic<std::uint32_t> waiting_readers;  // bit r: reader r sleeps on `news`
  alignas(64) std::atomic<std::uint32_t> room;             // futex of the writer
  std::atomic<WriterSleep> writer_sleep;
  std::atomic<std::uint32_t> required;  // bit r: reader r; written by the supervisor
  std::atomic<std::uint32_t> together;  // likewise
  std::atomic<std::uint64_t> resolved;  // the newest source number that is published, or never will be

  std::array<std::atomic<std::uint64_t>, index_size> index;  // {sequence 32 | slot 32}
  std::array<std::atomic<std::int64_t>, index_size> pts;     // of the frame in the same place of `index`
  std::array<std::atomic<std::int64_t>, index_size> packet;  // likewise
  std::array<Reader, max_ring_readers> readers;
  // 64 bits, because GPUs write them too (ReadySignals::give_back).
  std::array<std::array<std::atomic<std::uint64_t>, max_ring_slots>, max_ring_readers> done;
  std::array<Slot, max_ring_slots> slot;
  std::array<Fill, max_ring_slots> fill;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace campipe::ring
