// The packet ring: what goes in comes out, whole and in order, until it is given back; a full ring waits.
#include "ipc/packet_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/metadata_types.h"
#include "ipc/packet_ring_layout.h"
#include "tests/unit/cpu_waits.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using Next = PacketRingReader::Next;

std::vector<std::uint8_t> content_of(std::uint64_t number, std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  fill_pattern(bytes, number);
  return bytes;
}

struct Received {
  PacketView packet;
  std::uint64_t number = 0;
};

class PacketRing : public testing::Test {
 protected:
  explicit PacketRing(std::size_t capacity = 10'000, std::uint64_t base = 0)
      : memory_(PacketRingMemory::create(capacity, 1, base)), writer_(memory_), observer_(memory_), number_(base) {}

  [[nodiscard]] PacketRingReader reader() const {
    return PacketRingReader(PacketRingMemory::open(duplicate(memory_->fd())));
  }

  bool push(std::size_t size, Deadline deadline = Clock::now()) {
    const auto bytes = content_of(number_ + 1, size);
    const bool pushed = writer_.push(packet_of(number_ + 1, bytes, number_ % 3 == 0), deadline, never);
    if (pushed) ++number_;
    return pushed;
  }

  // The next packet, checked; number 0: none is there.
  static Received read(PacketRingReader& reader) {
    Received received;
    if (reader.next(received.packet, received.number, Clock::now()) != Next::packet) return {};
    EXPECT_TRUE(whole(received)) << "packet " << received.number;
    EXPECT_EQ(received.packet.key, (received.number - 1) % 3 == 0);
    return received;
  }

  static bool whole(const Received& received) {
    return received.packet.dts == pts_of(received.number) && has_pattern(received.packet.data, received.number);
  }

  static Next look(PacketRingReader& reader) {
    Received received;
    return reader.next(received.packet, received.number, Clock::now());
  }

  std::shared_ptr<PacketRingMemory> memory_;
  PacketRingWriter writer_;
  PacketRingObserver observer_;
  std::uint64_t number_;
};

TEST_F(PacketRing, PacketsMayComeToExistTogether) {
  auto reading = reader();
  const auto append = [&](PacketRingWriter::Exists exists) {
    const auto bytes = content_of(number_ + 1, 100);
    ASSERT_TRUE(writer_.push(packet_of(number_ + 1, bytes, number_ % 3 == 0), Clock::now(), never, exists));
    ++number_;
  };
  using Exists = PacketRingWriter::Exists;
  for (const Exists exists : {Exists::now, Exists::with_next, Exists::with_next}) append(exists);
  EXPECT_EQ(observer_.published(), 1U);
  EXPECT_EQ(read(reading).number, 1U);
  EXPECT_EQ(look(reading), Next::timeout);
  append(Exists::now);
  EXPECT_EQ(observer_.published(), 4U);
  for (std::uint64_t number = 2; number <= 4; ++number) EXPECT_EQ(read(reading).number, number);
  append(Exists::with_next);
  EXPECT_EQ(look(reading), Next::timeout);
  writer_.close();
  EXPECT_EQ(read(reading).number, 5U);
  EXPECT_EQ(look(reading), Next::ended);
}

// Else a reader that is to make room might wait for them.
TEST_F(PacketRing, WhereThereIsNoRoomAllPacketsExist) {
  const auto append = [&] {
    const auto bytes = content_of(number_ + 1, 4'000);
    const bool appended = writer_.push(packet_of(number_ + 1, bytes, number_ % 3 == 0), Clock::now(), never,
                                       PacketRingWriter::Exists::with_next);
    number_ += appended ? 1 : 0;
    return appended;
  };
  EXPECT_TRUE(append());
  EXPECT_TRUE(append());
  EXPECT_EQ(observer_.published(), 0U);
  EXPECT_FALSE(append());
  EXPECT_EQ(observer_.published(), 2U);
}

TEST_F(PacketRing, EveryFieldOfAPacketArrives) {
  auto reading = reader();
  const auto bytes = content_of(1, 321);
  PacketView sent = packet_of(1, bytes, true);
  sent.dts = -5;
  sent.times = {.pts = 1,
                .duration = 2,
                .capture_utc = 3,
                .capture_clock = CaptureClock::camera,
                .arrival = 4,
                .decode_cost = 5,
                .decoded = 6,
                .leased = 7,
                .filtered = 8,
                .encoded = 9};
  sent.metadata.set(MotionScore{0.5F, 0.25F, 0.125F});
  ASSERT_TRUE(writer_.push(sent, Clock::now(), never));
  Received got;
  ASSERT_EQ(reading.next(got.packet, got.number, after(seconds(30))), Next::packet);
  EXPECT_EQ(got.number, 1U);
  EXPECT_EQ(got.packet.dts, -5);
  EXPECT_TRUE(got.packet.key);
  EXPECT_EQ(std::vector<std::uint8_t>(got.packet.data.begin(), got.packet.data.end()), bytes);
  const FrameTimes& times = got.packet.times;
  EXPECT_EQ(times.pts, 1);
  EXPECT_EQ(times.duration, 2);
  EXPECT_EQ(times.capture_utc, 3);
  EXPECT_EQ(times.capture_clock, CaptureClock::camera);
  EXPECT_EQ(times.arrival, 4);
  EXPECT_EQ(times.encoded, 9);
  EXPECT_EQ(got.packet.metadata.get<MotionScore>(), (MotionScore{0.5F, 0.25F, 0.125F}));
}

// As another process would make it: sealed, of the right version, and of a size that is not the one it describes.
TEST(PacketRingMemory, IsOpenedOnlyWithTheSizeThatItDescribes) {
  const auto memory = PacketRingMemory::create(4096, 1, 0);
  EXPECT_NO_THROW(PacketRingMemory::open(duplicate(memory->fd())));
  const auto size = static_cast<std::size_t>(Mapping(memory->fd(), Mapping::Access::read).bytes().size());
  for (const std::size_t more : {std::size_t{1}, most_packet_bytes}) {
    const UniqueFd other = create_shared_memory("packet ring", size + more);
    const Mapping from(memory->fd(), Mapping::Access::read);
    const Mapping to(other.get(), Mapping::Access::read_write);
    std::copy_n(from.bytes().begin(), 4096, to.bytes().begin());
    const std::uint64_t capacity = 4096 + more;  // the third number, behind magic and version
    for (const bool claims : {false, true}) {
      if (claims) std::memcpy(to.bytes().data() + 8, &capacity, sizeof capacity);
      if (claims && capacity <= most_packet_bytes) {
        EXPECT_NO_THROW(PacketRingMemory::open(duplicate(other.get()))) << more;
      } else {
        EXPECT_THROW(PacketRingMemory::open(duplicate(other.get())), Error) << more << claims;
      }
    }
  }
}

TEST(PacketRingMemory, IsNotMadeLargerThanItMayBe) {
  EXPECT_THROW(PacketRingMemory::create(most_packet_bytes + 1, 1, 0), Error);
  EXPECT_THROW(PacketRingMemory::create(0, 1, 0), Error);
}

TEST_F(PacketRing, KnowsWhenAllItsFramesHaveBeenShown) {
  EXPECT_FALSE(observer_.shown_until());
  const auto bytes = content_of(1, 100);
  for (const std::int64_t shown : {0, 4, 2, 1, 3}) {  // as an encoder with B-frames has it
    PacketView packet = packet_of(1, bytes, shown == 0);
    packet.times.pts = shown * 40;
    packet.times.duration = 40;
    ASSERT_TRUE(writer_.push(packet, Clock::now(), never));
  }
  EXPECT_EQ(observer_.shown_until(), 200);
}

// Random sizes over many turns of the ring. Whatever was not given back must stay as it was written; and a packet
// may be refused only where the ring is too full to be sure of a contiguous place.
TEST_F(PacketRing, HoldsWhatWasNotGivenBackOverManyTurns) {
  constexpr std::size_t capacity = 10'000;
  constexpr std::size_t largest = 3'000;
  std::mt19937 random(20240607);  // NOLINT: the same sequence every time
  auto reading = reader();
  std::deque<Received> kept;
  std::size_t unread = 0;
  std::size_t used = 0;
  std::deque<std::size_t> sizes;
  int refused = 0;
  for (int step = 0; step < 30'000; ++step) {
    if (random() % 2 == 0) {
      const std::size_t size = 1 + random() % largest;
      const bool surely_fits = sizes.empty() || used + 2 * size + largest < capacity;
      const bool pushed = push(size);
      ASSERT_TRUE(pushed || !surely_fits) << "step " << step;
      refused += pushed ? 0 : 1;
      if (!pushed) continue;
      ++unread;
      used += size;
      sizes.push_back(size);
      ASSERT_LE(used, capacity);
    } else if (random() % 2 == 0) {
      const Received received = read(reading);
      ASSERT_EQ(received.number != 0, unread != 0);
      if (received.number == 0) continue;
      ASSERT_EQ(received.number, number_ - unread + 1);
      ASSERT_EQ(received.packet.data.size(), sizes[kept.size()]);
      --unread;
      kept.push_back(received);
    } else if (!kept.empty()) {
      const std::size_t count = 1 + random() % kept.size();
      for (const Received& packet : kept)
        ASSERT_TRUE(whole(packet)) << "packet " << packet.number << " was overwritten";
      reading.release_through(kept[count - 1].number);
      for (std::size_t i = 0; i < count; ++i) {
        used -= sizes.front();
        sizes.pop_front();
        kept.pop_front();
      }
    }
  }
  EXPECT_GT(number_, 4'000U) << "the ring must have turned many times";
  EXPECT_GT(refused, 100) << "and must have been full often";
}

TEST_F(PacketRing, AnyPacketOfHalfItsSizeFitsAnEmptyRing) {
  auto reading = reader();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(push(i % 3 == 0 ? 5'000 : 3'333));
    const Received received = read(reading);
    ASSERT_NE(received.number, 0U);
    reading.release_through(received.number);
  }
}

TEST_F(PacketRing, APacketThatNeverFitsIsAnError) {
  EXPECT_THROW(push(5'001), Error);
  EXPECT_THROW(push(0), Error);
  EXPECT_TRUE(push(5'000));
  EXPECT_EQ(observer_.published(), 1U);
}

TEST_F(PacketRing, AFullRingWaitsUntilTheDeadline) {
  auto reading = reader();
  ASSERT_TRUE(push(5'000));
  ASSERT_TRUE(push(5'000));
  const auto begin = Clock::now();
  EXPECT_FALSE(push(1, begin + milliseconds(30)));
  EXPECT_GE(Clock::now() - begin, milliseconds(30));
  EXPECT_FALSE(reading.writer_waits()) << "it has given up";
  EXPECT_EQ(observer_.published(), 2U);
  reading.release_through(read(reading).number);
  EXPECT_TRUE(push(1));
}

TEST_F(PacketRing, AnInterruptedPushEnds) {
  ASSERT_TRUE(push(5'000));
  ASSERT_TRUE(push(5'000));
  const auto bytes = content_of(3, 10);
  int asked = 0;
  EXPECT_FALSE(writer_.push(packet_of(3, bytes), after(for_ever), [&] { return ++asked == 2; }));
}

// Each round would take 100 ms if nobody woke the writer.
TEST_F(PacketRing, TheWriterIsWokenWhenThereIsRoom) {
  auto reading = reader();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(push(3'000));
  constexpr std::size_t rounds = 20;
  std::atomic<std::size_t> round{0};
  const std::jthread taker([&](const std::stop_token& stop) {
    std::size_t taken = 0;
    while (eventually([&] { return stop.stop_requested() || (taken < round && reading.writer_waits()); })) {
      if (stop.stop_requested()) return;
      taken = round;
      reading.release_through(read(reading).number);
    }
  });
  const Stopwatch watch;
  while (round < rounds) {
    const std::size_t size = 3'000 - ++round;
    ASSERT_TRUE(push(size, after(for_ever))) << "it fits where the oldest was";
  }
  EXPECT_LT(watch.elapsed(), rounds * milliseconds(60));
}

TEST_F(PacketRing, ReadersDeadlinePassesAndAPacketWakesIt) {
  auto reading = reader();
  Received received;
  const auto begin = Clock::now();
  EXPECT_EQ(reading.next(received.packet, received.number, begin + milliseconds(30)), Next::timeout);
  EXPECT_GE(Clock::now() - begin, milliseconds(30));
  std::jthread author([&] { EXPECT_TRUE(push(100)); });
  EXPECT_EQ(reading.next(received.packet, received.number, after(seconds(10))), Next::packet);
}

TEST_F(PacketRing, ASuccessorStartsBehindWhatWasReleased) {
  {
    auto first = reader();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(push(100));
    for (int i = 0; i < 4; ++i) EXPECT_NE(read(first).number, 0U);
    first.release_through(2);
  }
  auto second = reader();
  for (std::uint64_t number = 3; number <= 5; ++number) EXPECT_EQ(read(second).number, number);
  EXPECT_EQ(read(second).number, 0U);
}

TEST_F(PacketRing, ReleasingAgainOrLessDoesNothing) {
  auto reading = reader();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(push(100));
  while (read(reading).number != 0) continue;
  reading.release_through(3);
  reading.release_through(3);
  reading.release_through(1);
  reading.release_through(0);
  auto successor = reader();
  EXPECT_EQ(read(successor).number, 4U);
}

TEST_F(PacketRing, EndedComesAfterEveryPacket) {
  auto reading = reader();
  ASSERT_TRUE(push(100));
  writer_.close();
  observer_.mark_writer_gone();
  EXPECT_EQ(read(reading).number, 1U);
  EXPECT_EQ(look(reading), Next::ended);
  EXPECT_EQ(look(reading), Next::ended);
  auto successor = reader();
  EXPECT_EQ(read(successor).number, 1U) << "it was never released";
  EXPECT_EQ(look(successor), Next::ended);
}

TEST_F(PacketRing, WriterGoneComesAfterEveryPacket) {
  auto reading = reader();
  ASSERT_TRUE(push(100));
  observer_.mark_writer_gone();
  EXPECT_EQ(read(reading).number, 1U);
  EXPECT_EQ(look(reading), Next::writer_gone);
}

TEST_F(PacketRing, TheWritersEndWakesAReader) {
  auto reading = reader();
  Received received;
  std::jthread supervisor([&] { observer_.mark_writer_gone(); });
  EXPECT_EQ(reading.next(received.packet, received.number, after(seconds(10))), Next::writer_gone);
}

TEST_F(PacketRing, TellsHowFullItIs) {
  auto reading = reader();
  EXPECT_EQ(reading.fill(), 0);
  ASSERT_TRUE(push(2'500));
  EXPECT_DOUBLE_EQ(reading.fill(), 0.25);
  ASSERT_TRUE(push(5'000));
  EXPECT_DOUBLE_EQ(reading.fill(), 0.75);
  reading.release_through(read(reading).number);
  EXPECT_DOUBLE_EQ(reading.fill(), 0.5);
  ASSERT_TRUE(push(2'500));
  ASSERT_TRUE(push(1'000));  // at the beginning again
  EXPECT_DOUBLE_EQ(reading.fill(), 0.85);
  for (int i = 0; i < 3; ++i) reading.release_through(read(reading).number);
  EXPECT_EQ(reading.fill(), 0);
}

class LargePacketRing : public PacketRing {
 protected:
  LargePacketRing() : PacketRing(1 << 20, 500) {}
};

TEST_F(LargePacketRing, HoldsAsManyPacketsAsItHasEntries) {
  auto reading = reader();
  for (std::uint32_t i = 0; i < packet_ring_entries; ++i) {
    ASSERT_TRUE(push(8));
    if (i + 1 == packet_ring_entries / 2) {
      EXPECT_DOUBLE_EQ(reading.fill(), 0.5);
    }
  }
  EXPECT_DOUBLE_EQ(reading.fill(), 1.0);
  EXPECT_FALSE(push(8));
  EXPECT_EQ(read(reading).number, 501U);
  reading.release_through(501);
  EXPECT_TRUE(push(8));
  EXPECT_FALSE(push(8));
  for (std::uint64_t number = 502; number <= number_; ++number) ASSERT_EQ(read(reading).number, number);
}

TEST_F(LargePacketRing, CountsOnFromItsBase) {
  EXPECT_EQ(observer_.published(), 500U);
  ASSERT_TRUE(push(8));
  ASSERT_TRUE(push(8));
  EXPECT_EQ(observer_.published(), 502U);
  auto reading = reader();
  EXPECT_EQ(read(reading).number, 501U);
  reading.release_through(500);
  auto successor = reader();
  EXPECT_EQ(read(successor).number, 501U) << "nothing was released yet";
  successor.release_through(501);
  auto next = reader();
  EXPECT_EQ(read(next).number, 502U);
}

// What the reader has worked on, and what it has found there, on its way back.
TEST_F(PacketRing, TheWriterWaitsUntilAllHasBeenTaken) {
  EXPECT_TRUE(writer_.wait_until_taken(Clock::now(), never)) << "there is nothing to take";
  ASSERT_TRUE(push(10));
  ASSERT_TRUE(push(10));
  auto reading = reader();
  reading.set_taken(read(reading).number);
  EXPECT_FALSE(writer_.wait_until_taken(after(milliseconds(20)), never));
  EXPECT_FALSE(writer_.wait_until_taken(after(seconds(10)), [] { return true; })) << "interrupted";
  std::jthread other([&] { reading.set_taken(read(reading).number); });
  EXPECT_TRUE(writer_.wait_until_taken(after(for_ever), never));
}

TEST_F(LargePacketRing, WhatHasBeenTakenCountsFromItsBase) {
  ASSERT_TRUE(push(10));
  auto reading = reader();
  reading.set_taken(read(reading).number);
  EXPECT_TRUE(writer_.wait_until_taken(Clock::now(), never));
}

PacketRingNote note_of(std::int64_t packet) {
  PacketRingNote note;
  note.packet = packet;
  const float score = static_cast<float>(packet % 1000) / 1000;
  note.metadata.set(MotionScore{.moving = score, .score = score});
  return note;
}

TEST_F(PacketRing, ANoteOfTheReadersComesBackWhole) {
  EXPECT_FALSE(writer_.note(0));
  auto reading = reader();
  reading.set_note(1, note_of(7));
  EXPECT_FALSE(writer_.note(0)) << "each place has its own";
  ASSERT_TRUE(writer_.note(1));
  EXPECT_EQ(writer_.note(1)->packet, 7);
  std::jthread other([&](const std::stop_token& stop) {
    for (std::int64_t packet = 8; !stop.stop_requested(); ++packet) reading.set_note(1, note_of(packet));
  });
  std::int64_t newest = 7;
  int whole = 0;
  for (const Deadline end = after(seconds(50)); whole < 10'000 && Clock::now() < end;) {
    const auto note = writer_.note(1);
    if (!note) continue;
    ++whole;
    ASSERT_EQ(note->metadata.get<MotionScore>(), note_of(note->packet).metadata.get<MotionScore>());
    ASSERT_GE(note->packet, newest);
    newest = note->packet;
  }
  EXPECT_EQ(whole, 10'000);
}

// As one leaves it that died while it wrote.
TEST_F(PacketRing, AHalfNoteIsNoneAndTheNextReaderGoesOn) {
  reader().set_note(0, note_of(1));
  std::atomic<std::uint64_t>& sequence = memory_->header().note[0].sequence;
  ++sequence;
  EXPECT_FALSE(writer_.note(0));
  reader().set_note(0, note_of(2));
  EXPECT_EQ(sequence % 2, 0U);
  ASSERT_TRUE(writer_.note(0));
  EXPECT_EQ(writer_.note(0)->packet, 2);
}

TEST_F(PacketRing, WhatCannotBeIsNoNote) {
  reader().set_note(0, note_of(1));
  for (auto& word : memory_->header().note[0].words) word = ~std::uint64_t{0};
  EXPECT_FALSE(writer_.note(0));
}

TEST(PacketRingMemory, RefusesWhatIsNotAPacketRing) {
  EXPECT_THROW(PacketRingMemory::open(UniqueFd()), Error);
  EXPECT_THROW(PacketRingMemory::open(create_shared_memory("small", 64)), Error);
  EXPECT_THROW(PacketRingMemory::open(create_shared_memory("zero", 1 << 20)), Error);
  const auto ring = FrameRingMemory::create({.slots = 64, .slot_bytes = 1 << 16});
  EXPECT_THROW(PacketRingMemory::open(duplicate(ring->control_fd())), Error);
  EXPECT_THROW(PacketRingMemory::open(duplicate(ring->pixel_fd())), Error);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
