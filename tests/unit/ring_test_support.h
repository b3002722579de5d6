// What the tests of the rings share: frames whose bytes tell their number, so that a torn or wrong one shows,
// and waits that end.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "core/clock.h"
#include "core/packet.h"
#include "ipc/frame_ring.h"
#include "ipc/frame_ring_layout.h"
#include "ipc/shared_memory.h"

namespace campipe::test {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline Deadline after(Clock::duration time) { return Clock::now() + time; }
// For a call that must not wait for its deadline: its test would not end in time.
inline constexpr auto for_ever = std::chrono::hours(1);
inline bool never() { return false; }

// Looks again and again until `condition` holds. False: it did not within `patience`.
template <typename Condition>
bool eventually(Condition condition, Clock::duration patience = seconds(50)) {
  const Deadline deadline = after(patience);
  while (!condition()) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(microseconds(200));
  }
  return true;
}

// Every word depends on the number and on its place, so that no two frames share one.
inline std::uint64_t pattern_word(std::uint64_t number, std::size_t at) {
  return (number * 0x9e3779b97f4a7c15U) ^ (at * 0xc2b2ae3d27d4eb4fU + 1);
}

inline void fill_pattern(std::span<std::uint8_t> bytes, std::uint64_t number) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = pattern_word(number, at);
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
  }
}

inline bool has_pattern(std::span<const std::uint8_t> bytes, std::uint64_t number) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = pattern_word(number, at);
    if (std::memcmp(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at)) != 0) return false;
  }
  return true;
}

// As the supervisor does before it sends a ring to a reader, which may be in another process.
inline void reserve_seat(const std::shared_ptr<FrameRingMemory>& memory, unsigned place) {
  FrameRingObserver observer(memory);
  while (observer.reader_state(place) == ReaderState::empty && observer.reserve()) {
  }
}

inline constexpr int picture_width = 96;
inline constexpr int picture_height = 64;
inline constexpr std::size_t picture_bytes = picture_width * picture_height * 3 / 2;

inline std::int64_t pts_of(std::uint64_t number) { return static_cast<std::int64_t>(number) * 1000; }

inline FrameRecord record_of(std::uint64_t number) {
  FrameRecord record;
  record.format.width = picture_width;
  record.format.height = picture_height;
  record.offset = {0, picture_width * picture_height, picture_width * picture_height * 5 / 4};
  record.stride = {picture_width, picture_width / 2, picture_width / 2};
  record.times.pts = pts_of(number);
  return record;
}

inline std::span<const std::uint8_t> bytes_of(const FrameRingReader::Lease& lease) {
  return {lease.frame.view.data[0], picture_bytes};
}

inline bool intact(const FrameRingReader::Lease& lease) {
  return lease.times.pts == pts_of(lease.number) && has_pattern(bytes_of(lease), lease.number);
}

// Taken back from its readers, as their seats count.
inline unsigned recalled_of(const FrameRingWriter& writer) {
  unsigned recalled = 0;
  for (const ring::Reader& seat : writer.memory().header().readers)
    recalled += ring::SeatWord::unpack(seat.recalled.load()).value;
  return recalled;
}

// Writes the frame `number` as a decoder does. False: no slot was free.
inline bool write_frame(FrameRingWriter& writer, std::uint64_t number) {
  const auto slot = writer.claim();
  if (!slot) return false;
  fill_pattern(slot->pixels.first(picture_bytes), number);
  const auto published = writer.publish(slot->index, record_of(number));
  writer.unpin(slot->index);
  return published == FrameRingWriter::Published::yes;
}

inline PacketView packet_of(std::uint64_t number, std::span<const std::uint8_t> bytes, bool key = false) {
  PacketView packet;
  packet.data = bytes;
  packet.dts = pts_of(number);
  packet.key = key;
  return packet;
}

// The same ring as another process would see it: through mappings of its own.
inline std::shared_ptr<FrameRingMemory> reopen(const FrameRingMemory& memory, FrameRingMemory::Role role) {
  return FrameRingMemory::open(duplicate(memory.control_fd()), duplicate(memory.pixel_fd()), role);
}

}  // namespace campipe::test
