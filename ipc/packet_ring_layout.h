// How a packet ring lies in its shared memory: for its parts alone. All words are atomic, so that a death tears none.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "ipc/packet_ring.h"

namespace campipe::packet_ring {

inline constexpr std::uint32_t magic = 0x746b6370;  // "pckt"
inline constexpr std::uint32_t layout_version = 7;

struct Entry {
  std::uint64_t offset;
  std::uint32_t size;      // of metadata and data
  std::uint16_t metadata;  // bytes of it, before the data: most packets have little or none
  std::uint16_t key;       // 0 or 1
  std::int64_t dts;
  FrameTimes times;
};

// What the ring is. The writer writes it once; all work with a copy.
struct Description {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t capacity;
  std::uint64_t epoch;
  std::uint64_t base;
};

// What the reader has to say of one thing. Odd while it is being written.
struct Note {
  alignas(64) std::atomic<std::uint64_t> sequence;
  std::array<std::atomic<std::uint64_t>, (sizeof(PacketRingNote) + 7) / 8> words;
};

struct Header {
  Description description;
  alignas(64) std::atomic<std::uint64_t> head;  // packets written in this epoch
  std::atomic<WriterState> writer;
  std::atomic<std::uint32_t> news;                  // futex of the reader
  std::atomic<std::uint64_t> full_at;               // `released` when the writer found no room last, plus 1
  alignas(64) std::atomic<std::uint64_t> released;  // packets given back in this epoch
  std::atomic<std::uint32_t> room;                  // futex of the writer
  std::atomic<std::uint32_t> reader_sleeps;
  std::atomic<std::uint32_t> writer_sleeps;
  std::atomic<std::uint64_t> taken;  // packets of this epoch, by the reader
  std::array<Note, packet_ring_notes> note;
  alignas(64) std::array<Entry, packet_ring_entries> entry;  // of packet n: entry[n % packet_ring_entries]
};

}  // namespace campipe::packet_ring
