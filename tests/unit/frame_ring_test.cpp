// The protocol of the frame ring, one rule at a time, with reader and writer each on mappings of their own.
#include "ipc/frame_ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "core/error.h"
#include "ipc/frame_ring_layout.h"
#include "tests/unit/cpu_waits.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using Lease = FrameRingReader::Lease;
using Next = FrameRingReader::Next;
using Published = FrameRingWriter::Published;
using Role = FrameRingMemory::Role;

class FrameRing : public testing::Test {
 protected:
  explicit FrameRing(FrameRingSpec spec = {.slots = 6, .slot_bytes = picture_bytes})
      : memory_(FrameRingMemory::create(spec)),
        writer_(memory_),
        observer_(reopen(*memory_, Role::observer)),
        number_(spec.base) {}

  std::unique_ptr<FrameRingReader> reader(unsigned place, bool blocking, unsigned queue_size) {
    auto reader = std::make_unique<FrameRingReader>(reopen(*memory_, Role::reader), place);
    reserve_seat(memory_, place);
    reader->attach(blocking, queue_size);
    return reader;
  }

  // Writes the next frame; returns how many had to be taken back for it.
  unsigned write() {
    const unsigned before = recalled_of(writer_);
    EXPECT_TRUE(write_frame(writer_, ++number_)) << "frame " << number_;
    return recalled_of(writer_) - before;
  }

  void write(int frames) {
    for (int i = 0; i < frames; ++i) write();
  }

  // The number of the next frame, given back at once; 0: none is there.
  static std::uint64_t read(FrameRingReader& reader) {
    Lease lease;
    if (reader.next(lease, Clock::now()) != Next::frame) return 0;
    EXPECT_TRUE(intact(lease));
    return lease.number;
  }

  static Lease take(FrameRingReader& reader) {
    Lease lease;
    EXPECT_EQ(reader.next(lease, after(seconds(30))), Next::frame);
    return lease;
  }

  static Next look(FrameRingReader& reader) {
    Lease lease;
    return reader.next(lease, Clock::now());
  }

  // The slots that can be claimed now; they are let go of again.
  std::set<unsigned> claimable() {
    std::set<unsigned> slots;
    while (const auto slot = writer_.claim()) slots.insert(slot->index);
    for (const unsigned slot : slots) writer_.unpin(slot);
    return slots;
  }

  [[nodiscard]] bool writer_sleeps() const {
    return memory_->header().writer_sleep.load() == ring::WriterSleep::for_room;
  }

  std::shared_ptr<FrameRingMemory> memory_;
  FrameRingWriter writer_;
  FrameRingObserver observer_;
  std::uint64_t number_;
};

const std::set<unsigned> all_six{0, 1, 2, 3, 4, 5};

TEST_F(FrameRing, ClaimsTheLowestFreeSlotFirst) {
  EXPECT_EQ(writer_.claim()->index, 0U);
  EXPECT_EQ(writer_.claim()->index, 1U);
  EXPECT_EQ(writer_.claim()->index, 2U);
  writer_.unpin(1);
  EXPECT_EQ(writer_.claim()->index, 1U);
  EXPECT_EQ(writer_.claim()->index, 3U);
}

TEST_F(FrameRing, ClaimsNothingWhenAllAreInUse) {
  for (unsigned i = 0; i < 6; ++i) ASSERT_TRUE(writer_.claim());
  EXPECT_FALSE(writer_.claim());
  writer_.unpin(5);
  EXPECT_EQ(writer_.claim()->index, 5U);
}

TEST_F(FrameRing, UnpinningAnUnpublishedSlotFreesIt) {
  const auto slot = writer_.claim();
  EXPECT_TRUE(writer_.unpublished(slot->index));
  writer_.unpin(slot->index);
  EXPECT_FALSE(writer_.unpublished(slot->index));
  EXPECT_EQ(claimable(), all_six);
}

TEST_F(FrameRing, APublishedSlotThatTheDecoderStillUsesIsNotReused) {
  const auto reading = reader(0, false, 4);
  const auto slot = writer_.claim();
  fill_pattern(slot->pixels, ++number_);
  ASSERT_EQ(writer_.publish(slot->index, record_of(number_)), Published::yes);
  EXPECT_FALSE(writer_.unpublished(slot->index));
  EXPECT_EQ(read(*reading), 1U);
  EXPECT_EQ(claimable(), (std::set<unsigned>{1, 2, 3, 4, 5}));
  writer_.unpin(slot->index);
  EXPECT_EQ(claimable(), all_six);
}

TEST_F(FrameRing, ASlotIsReusedOnlyWhenItsReaderHasGivenItBack) {
  const auto reading = reader(0, false, 4);
  write();
  EXPECT_EQ(claimable().count(0), 0U) << "pending";
  Lease lease = take(*reading);
  EXPECT_EQ(claimable().count(0), 0U) << "held";
  auto copy = lease.frame;
  lease = {};
  EXPECT_EQ(claimable().count(0), 0U) << "held by a copy";
  copy = {};
  EXPECT_EQ(claimable(), all_six);
}

// Readers that need the same frames, or none: a frame that only one of them has taken is left to the other.
TEST_F(FrameRing, WhatIsTakenBackFromReadersThatAreKeptTogetherIsTheSame) {
  const auto one = reader(0, false, 2);
  const auto other = reader(1, false, 2);
  observer_.keep_together(0b11);
  write(2);
  EXPECT_EQ(read(*one), 1U) << "and 2 waits; for the other, 1 and 2";
  write();
  EXPECT_EQ(read(*one), 3U) << "2 was taken back from both, since 1 would be of no use to the other alone";
  EXPECT_EQ(read(*other), 1U);
  EXPECT_EQ(read(*other), 3U);
  EXPECT_EQ(observer_.frames_of(0).recalled, 1U);
  EXPECT_EQ(observer_.frames_of(1).recalled, 1U);
  write(2);
  EXPECT_EQ(read(*one), 4U);
  EXPECT_EQ(read(*one), 5U);
  write();
  EXPECT_EQ(read(*other), 5U) << "where the first has taken all, the oldest goes";
}

TEST_F(FrameRing, AReaderLearnsOfFramesThatDoNotCome) {
  const auto reading = reader(0, false, 4);
  EXPECT_EQ(reading->resolved(), 0U);
  Lease lease;
  writer_.resolve(3);
  EXPECT_EQ(reading->next(lease, after(seconds(60))), Next::timeout);
  EXPECT_EQ(reading->resolved(), 3U);
  writer_.resolve(2);
  EXPECT_EQ(reading->next(lease, Clock::now()), Next::timeout);
  EXPECT_EQ(reading->resolved(), 3U) << "it only grows";
  FrameRecord record = record_of(++number_);
  record.source_number = 7;
  const auto slot = writer_.claim();
  fill_pattern(slot->pixels, number_);
  ASSERT_EQ(writer_.publish(slot->index, record), Published::yes);
  writer_.unpin(slot->index);
  EXPECT_EQ(reading->resolved(), 3U) << "a frame that is still to be taken is not";
  lease = take(*reading);
  EXPECT_EQ(lease.source_number, 7U);
  EXPECT_EQ(reading->resolved(), 7U) << "but what was taken is";
  // One that sleeps wakes, long before its deadline.
  std::jthread later([this] {
    EXPECT_TRUE(eventually([this] { return memory_->header().waiting_readers.load() != 0; }));
    writer_.resolve(8);
  });
  EXPECT_EQ(reading->next(lease, after(for_ever)), Next::timeout);
  EXPECT_EQ(reading->resolved(), 8U);
  writer_.resolve(9);
  writer_.close();
  EXPECT_EQ(reading->next(lease, Clock::now()), Next::ended);
  EXPECT_EQ(reading->resolved(), 9U) << "and the last ones";
}

// Of three that need the same frames, one has taken a frame that another loses: it is of no use to the third.
TEST_F(FrameRing, WhatOneOfThreeLosesNoOtherTakes) {
  const auto one = reader(0, false, 1);
  const auto another = reader(1, false, 1);
  const auto third = reader(2, false, 1);
  observer_.keep_together(0b111);
  write();
  EXPECT_EQ(read(*one), 1U);
  write();
  EXPECT_EQ(read(*another), 2U);
  EXPECT_EQ(read(*third), 2U);
  for (unsigned seat = 0; seat < 3; ++seat) EXPECT_EQ(observer_.frames_of(seat).recalled, seat == 0 ? 0U : 1U) << seat;
}

TEST_F(FrameRing, WithoutAReaderNothingIsPublished) {
  const auto slot = writer_.claim();
  EXPECT_EQ(writer_.publish(slot->index, record_of(1)), Published::no_reader);
  EXPECT_TRUE(writer_.unpublished(slot->index));
  EXPECT_EQ(observer_.published(), 0U);
  EXPECT_FALSE(observer_.last_pts());
}

TEST_F(FrameRing, SixteenReadersShareAFrame) {
  std::vector<std::unique_ptr<FrameRingReader>> readers;
  std::vector<Lease> leases;
  for (unsigned place = 0; place < max_ring_readers; ++place) {
    readers.push_back(reader(place, place % 2 == 0, 2));
  }
  EXPECT_FALSE(observer_.reserve());
  write();
  for (auto& each : readers) leases.push_back(take(*each));
  for (auto& lease : leases) {
    EXPECT_EQ(lease.number, 1U);
    EXPECT_TRUE(intact(lease));
    EXPECT_EQ(claimable().count(0), 0U);
    lease = {};
  }
  EXPECT_EQ(claimable(), all_six);
}

TEST_F(FrameRing, ADroppingReadersOldestFramesAreTakenBack) {
  const auto reading = reader(0, false, 2);
  EXPECT_EQ(write(), 0U);
  EXPECT_EQ(write(), 0U);
  EXPECT_EQ(write(), 1U);
  EXPECT_EQ(write(), 1U);
  EXPECT_EQ(claimable().size(), 4U) << "what was taken back is free";
  EXPECT_EQ(read(*reading), 3U);
  EXPECT_EQ(write(), 0U) << "there is room for one again";
  EXPECT_EQ(read(*reading), 4U);
  EXPECT_EQ(read(*reading), 5U);
  EXPECT_EQ(read(*reading), 0U);
}

TEST_F(FrameRing, ALeaseIsNeverTakenBack) {
  const auto reading = reader(0, false, 1);
  write();
  const Lease lease = take(*reading);
  for (int i = 0; i < 50; ++i) write();
  EXPECT_TRUE(intact(lease));
  EXPECT_EQ(lease.number, 1U);
  EXPECT_EQ(read(*reading), 51U);
}

TEST_F(FrameRing, AReaderThatWasLappedManyTimesGoesOnWithTheNewest) {
  const auto reading = reader(0, false, 2);
  write(1000);
  EXPECT_EQ(read(*reading), 999U);
  EXPECT_EQ(read(*reading), 1000U);
  EXPECT_EQ(read(*reading), 0U);
}

TEST_F(FrameRing, WaitsForRoomOfABlockingReader) {
  const auto reading = reader(0, true, 2);
  EXPECT_TRUE(writer_.wait_for_room(Clock::now(), never));
  write(2);
  const auto begin = Clock::now();
  EXPECT_FALSE(writer_.wait_for_room(begin + milliseconds(30), never));
  EXPECT_GE(Clock::now() - begin, milliseconds(30));
  EXPECT_EQ(read(*reading), 1U);
  EXPECT_TRUE(writer_.wait_for_room(Clock::now(), never));
}

// As in a move: who takes over is not waited for before it is ready, and from then on whatever the policy is.
TEST_F(FrameRing, WaitsForWhomItIsToHeed) {
  using Heed = FrameRingReader::Heed;
  using Readers = FrameRingWriter::Readers;
  for (const bool blocking : {false, true}) {
    const auto reading = reader(blocking ? 1 : 0, blocking, 2);
    const auto has_room = [&](Readers readers) { return writer_.wait_for_room(Clock::now(), never, readers); };
    write(2);
    EXPECT_EQ(has_room(Readers::blocking), !blocking);
    EXPECT_FALSE(has_room(Readers::all));
    reading->set_heed(Heed::unheeded);
    EXPECT_TRUE(has_room(Readers::blocking));
    EXPECT_TRUE(has_room(Readers::all));
    reading->set_heed(Heed::awaited);
    EXPECT_FALSE(has_room(Readers::blocking));
    EXPECT_FALSE(has_room(Readers::all));
    EXPECT_GT(read(*reading), 0U);
    EXPECT_TRUE(has_room(Readers::blocking));
    write();
    reading->set_heed(Heed::usual);
    EXPECT_EQ(has_room(Readers::blocking), !blocking);
    reading->leave();
    writer_.service();
  }
}

TEST_F(FrameRing, AnInterruptedWaitEnds) {
  const auto reading = reader(0, true, 1);
  write();
  EXPECT_FALSE(writer_.wait_for_room(after(for_ever), [] { return true; }));
  writer_.sleep_until(after(for_ever), [] { return true; });
  int asked = 0;
  EXPECT_FALSE(writer_.wait_for_room(after(for_ever), [&] { return ++asked == 2; }));
}

// Each round would take 100 ms if nobody woke the writer.
TEST_F(FrameRing, TheWriterIsWokenWhenThereIsRoom) {
  const auto reading = reader(0, true, 1);
  constexpr int rounds = 20;
  std::atomic<std::uint64_t> written{0};
  const std::jthread taker([&](const std::stop_token& stop) {
    std::uint64_t taken = 0;
    while (eventually([&] { return stop.stop_requested() || (taken < written && writer_sleeps()); })) {
      if (stop.stop_requested()) return;
      taken = written;
      EXPECT_EQ(read(*reading), taken);
    }
  });
  const Stopwatch watch;
  for (int round = 0; round < rounds; ++round) {
    write();
    written = number_;
    EXPECT_TRUE(writer_.wait_for_room(after(for_ever), never));
  }
  EXPECT_LT(watch.elapsed(), rounds * milliseconds(60));
}

TEST_F(FrameRing, TheWriterIsWokenByTheFirstReader) {
  EXPECT_FALSE(writer_.wait_for_reader(after(milliseconds(5)), never));
  std::unique_ptr<FrameRingReader> reading;
  std::jthread comer([&] {
    eventually([&] { return writer_sleeps(); });
    reading = reader(4, false, 1);
  });
  EXPECT_TRUE(writer_.wait_for_reader(after(seconds(10)), never));
  comer.join();
  EXPECT_EQ(observer_.reader_state(4), ReaderState::live);
}

TEST_F(FrameRing, ASleepingReaderIsWokenByAFrame) {
  const auto reading = reader(0, true, 1);
  std::jthread author([&] {
    for (int round = 0; round < 20; ++round) {
      EXPECT_TRUE(eventually([&] { return memory_->header().waiting_readers.load() != 0; }));
      EXPECT_TRUE(writer_.wait_for_room(after(seconds(10)), never));
      write();
    }
  });
  for (std::uint64_t number = 1; number <= 20; ++number) EXPECT_EQ(take(*reading).number, number);
}

TEST_F(FrameRing, AReadersDeadlinePasses) {
  const auto reading = reader(0, true, 1);
  const auto begin = Clock::now();
  Lease lease;
  EXPECT_EQ(reading->next(lease, begin + milliseconds(30)), Next::timeout);
  EXPECT_GE(Clock::now() - begin, milliseconds(30));
  EXPECT_EQ(memory_->header().waiting_readers.load(), 0U);
}

TEST_F(FrameRing, ADroppingReaderDoesNotHinderABlockingOne) {
  const auto dropping = reader(0, false, 1);
  const auto blocking = reader(1, true, 1);
  const Lease held = (write(), take(*dropping));
  unsigned recalled = 0;
  for (std::uint64_t number = 1; number < 40; ++number) {
    EXPECT_EQ(read(*blocking), number);
    ASSERT_TRUE(writer_.wait_for_room(after(milliseconds(100)), never));
    recalled += write();
  }
  EXPECT_EQ(recalled, 38U) << "all for the dropping reader but the one that is pending";
  EXPECT_FALSE(writer_.wait_for_room(Clock::now(), never)) << "the blocking reader's queue is full";
  EXPECT_EQ(read(*blocking), 40U);
  EXPECT_EQ(read(*dropping), 40U);
  EXPECT_TRUE(intact(held));
}

TEST_F(FrameRing, AReaderThatComesLateGetsOnlyLaterFrames) {
  const auto first = reader(0, false, 4);
  write(3);
  const auto late = reader(1, false, 4);
  EXPECT_EQ(read(*late), 0U);
  write();
  EXPECT_EQ(read(*late), 4U);
  EXPECT_EQ(read(*first), 1U);
}

TEST_F(FrameRing, EndedComesAfterEveryFrame) {
  const auto reading = reader(0, true, 4);
  write(2);
  writer_.close();
  EXPECT_EQ(observer_.writer_state(), WriterState::closed);
  observer_.mark_writer_gone();
  EXPECT_EQ(observer_.writer_state(), WriterState::closed) << "what was closed in order stays so";
  EXPECT_EQ(read(*reading), 1U);
  EXPECT_EQ(read(*reading), 2U);
  EXPECT_EQ(look(*reading), Next::ended);
  writer_.close();
  EXPECT_EQ(look(*reading), Next::ended);
}

TEST_F(FrameRing, IsDrainedWhenEveryFrameWasTakenAndGivenBack) {
  const auto blocking = reader(0, true, 4);
  const auto mortal = reader(1, false, 4);
  EXPECT_TRUE(writer_.drained());
  write();
  writer_.close();
  Lease lease = take(*blocking);
  const Lease of_the_dead = take(*mortal);
  EXPECT_FALSE(writer_.drained());
  lease = {};
  EXPECT_FALSE(writer_.drained());
  observer_.mark_reader_gone(1);
  EXPECT_TRUE(writer_.drained());
}

TEST_F(FrameRing, WhatTheCpuFillsIsReadyAtOnceAndNeedsNoStream) {
  const auto reading = reader(0, true, 4);
  write();
  Lease lease = take(*reading);
  EXPECT_EQ(lease.ready, ReadySignal::immediate);
  EXPECT_EQ(lease.fill, 0U);
  EXPECT_EQ(lease.slot, 0U);
  EXPECT_EQ(memory_->signals(), nullptr);
  EXPECT_TRUE(reading->release_waits()) << "there are none";
  EXPECT_THROW(reading->use_on(nullptr, lease), Error);
  EXPECT_THROW(writer_.filled(1, nullptr), Error);
}

TEST_F(FrameRing, WriterGoneComesAfterEveryFrame) {
  const auto reading = reader(0, true, 4);
  write(2);
  observer_.mark_writer_gone();
  EXPECT_EQ(observer_.writer_state(), WriterState::gone);
  EXPECT_EQ(read(*reading), 1U);
  EXPECT_EQ(read(*reading), 2U);
  EXPECT_EQ(look(*reading), Next::writer_gone);
}

TEST_F(FrameRing, TheEndWakesASleepingReader) {
  for (const bool in_order : {true, false}) {
    const auto memory = FrameRingMemory::create({.slots = 2, .slot_bytes = 64});
    FrameRingReader reading(reopen(*memory, Role::reader), 0);
    reserve_seat(memory, 0);
    reading.attach(true, 1);
    std::jthread ender([&] {
      eventually([&] { return memory->header().waiting_readers.load() != 0; });
      if (in_order) FrameRingWriter(memory).close();
      if (!in_order) FrameRingObserver(memory).mark_writer_gone();
    });
    Lease lease;
    EXPECT_EQ(reading.next(lease, after(seconds(10))), in_order ? Next::ended : Next::writer_gone);
  }
}

TEST_F(FrameRing, NothingOfADeadReaderStays) {
  const auto survivor = reader(0, false, 6);
  const auto dead = reader(1, true, 3);
  write(3);
  const Lease held = take(*dead);
  for (std::uint64_t number = 1; number <= 3; ++number) EXPECT_EQ(read(*survivor), number);
  EXPECT_EQ(claimable().size(), 3U);

  observer_.mark_reader_gone(1);
  EXPECT_EQ(observer_.reader_state(1), ReaderState::gone);
  EXPECT_EQ(observer_.reserve(), 2U) << "its place is not empty before the writer has looked";
  EXPECT_TRUE(writer_.wait_for_room(Clock::now(), never)) << "nobody waits for the dead";
  writer_.service();
  EXPECT_EQ(observer_.reader_state(1), ReaderState::empty);
  EXPECT_EQ(claimable(), all_six);

  const auto successor = reader(1, true, 3);
  EXPECT_EQ(read(*successor), 0U);
  write();
  EXPECT_EQ(read(*successor), 4U);
  EXPECT_EQ(read(*survivor), 4U);
  EXPECT_EQ(claimable(), all_six);
}

TEST_F(FrameRing, MarkingAReaderThatNeverCameDoesNothing) {
  observer_.mark_reader_gone(5);
  EXPECT_EQ(observer_.reader_state(5), ReaderState::empty);
}

TEST_F(FrameRing, ADeathWakesTheWriter) {
  const auto dead = reader(0, true, 1);
  write();
  std::jthread supervisor([&] {
    eventually([&] { return writer_sleeps(); });
    observer_.mark_reader_gone(0);
  });
  EXPECT_TRUE(writer_.wait_for_room(after(seconds(10)), never));
  supervisor.join();
  writer_.service();
  EXPECT_EQ(observer_.reader_state(0), ReaderState::empty);
}

TEST_F(FrameRing, ASeatIsReservedForOneReader) {
  EXPECT_EQ(observer_.reserve(), 0U);
  EXPECT_EQ(observer_.reserve(), 1U);
  EXPECT_EQ(observer_.reader_state(0), ReaderState::reserved);
  EXPECT_FALSE(writer_.wait_for_reader(Clock::now(), never)) << "nobody has come yet";
  observer_.mark_reader_gone(0);
  writer_.service();
  EXPECT_EQ(observer_.reserve(), 0U) << "its reader died before it came";
  const auto first = reader(1, false, 1);
  FrameRingReader second(reopen(*memory_, Role::reader), 1);
  second.attach(false, 1);
  EXPECT_EQ(look(second), Next::broken) << "the seat is another one's";
  write();
  EXPECT_EQ(read(*first), 1U);
}

TEST_F(FrameRing, AReaderThatLeavesIsSeenOff) {
  const auto stays = reader(0, true, 3);
  const auto leaves = reader(1, true, 3);
  write(3);
  Lease held = take(*leaves);
  for (std::uint64_t number = 1; number <= 3; ++number) EXPECT_EQ(read(*stays), number);
  write();
  EXPECT_EQ(read(*stays), 4U);
  EXPECT_FALSE(writer_.wait_for_room(Clock::now(), never)) << "it has three more to take";
  leaves->leave();
  EXPECT_TRUE(writer_.wait_for_room(Clock::now(), never)) << "nobody waits for it";
  EXPECT_EQ(observer_.reader_state(1), ReaderState::leaving) << "it still has a frame";
  write();
  EXPECT_EQ(read(*stays), 5U);
  EXPECT_TRUE(intact(held));
  EXPECT_EQ(claimable().count(held.slot), 0U);
  held = {};
  writer_.service();
  EXPECT_EQ(observer_.reader_state(1), ReaderState::empty);
  EXPECT_EQ(claimable(), all_six);
  const auto successor = reader(1, true, 3);
  write();
  EXPECT_EQ(read(*successor), 6U);
}

TEST_F(FrameRing, AReaderThatDiesWhileItLeavesLeavesNothing) {
  const auto dead = reader(0, true, 3);
  write(2);
  const Lease held = take(*dead);
  dead->leave();
  writer_.service();
  EXPECT_EQ(observer_.reader_state(0), ReaderState::leaving);
  observer_.mark_reader_gone(0);
  writer_.service();
  EXPECT_EQ(observer_.reader_state(0), ReaderState::empty);
  EXPECT_EQ(claimable(), all_six);
}

// It sleeps until then, and its queue is full.
TEST_F(FrameRing, TheWriterIsWokenByAReaderThatLeaves) {
  const auto leaves = reader(0, true, 1);
  write();
  std::jthread leaver([&] {
    eventually([&] { return writer_sleeps(); });
    leaves->leave();
  });
  EXPECT_TRUE(writer_.wait_for_room(after(seconds(10)), never));
  leaver.join();
  writer_.service();
  EXPECT_EQ(observer_.reader_state(0), ReaderState::empty);
}

TEST_F(FrameRing, TheWriterWaitsForAllWhoAreRequired) {
  const auto other = reader(0, false, 1);
  reserve_seat(memory_, 1);
  EXPECT_TRUE(writer_.wait_for_reader(Clock::now(), never)) << "nobody is required";
  observer_.require(1U << 1U);
  EXPECT_FALSE(writer_.wait_for_reader(after(milliseconds(5)), never));
  auto required = reader(1, true, 1);
  EXPECT_TRUE(writer_.wait_for_reader(Clock::now(), never));
  observer_.mark_reader_gone(1);
  writer_.service();
  EXPECT_FALSE(writer_.wait_for_reader(after(milliseconds(5)), never)) << "its successor is waited for, too";
  reserve_seat(memory_, 1);
  required = reader(1, true, 1);
  EXPECT_TRUE(writer_.wait_for_reader(Clock::now(), never));
  observer_.require(0);
  required->leave();
  EXPECT_TRUE(writer_.wait_for_reader(Clock::now(), never));
}

bool operator==(const SeatFrames& a, const SeatFrames& b) {
  return a.first == b.first && a.last == b.last && a.recalled == b.recalled;
}

TEST_F(FrameRing, ASeatKnowsWhichFramesWereMeantForIt) {
  const auto first = reader(0, false, 2);
  write(2);
  const auto second = reader(1, false, 1);
  write(3);
  EXPECT_EQ(read(*second), 5U);
  second->leave();
  EXPECT_TRUE(observer_.frames_of(0) == (SeatFrames{1, 5, 3}));
  EXPECT_TRUE(observer_.frames_of(1) == (SeatFrames{3, 5, 2}));
  EXPECT_TRUE(observer_.frames_of(2) == SeatFrames{});
  write(2);
  EXPECT_TRUE(observer_.frames_of(0) == (SeatFrames{1, 7, 5}));
  EXPECT_TRUE(observer_.frames_of(1) == (SeatFrames{3, 5, 2})) << "it has left";
  first->leave();
  writer_.service();
  EXPECT_TRUE(observer_.frames_of(0) == (SeatFrames{1, 7, 7})) << "the two that waited were taken back";
  const auto successor = reader(1, false, 1);
  write();
  EXPECT_TRUE(observer_.frames_of(1) == (SeatFrames{8, 8, 0}));
}

// The writer stores a record word by word: here it has begun with the seat's next reader.
TEST_F(FrameRing, WhatIsHalfOfOneReaderAndHalfOfTheNextIsNobodys) {
  const auto first = reader(0, false, 2);
  write(2);
  const std::uint32_t tenure = observer_.frames_of(0).tenure;
  observer_.memory().header().readers[0].first.store(ring::SeatWord{tenure + 1, 0}.pack());
  const SeatFrames frames = observer_.frames_of(0);
  EXPECT_TRUE(frames == SeatFrames{});
  EXPECT_EQ(frames.tenure, tenure + 1);
}

TEST_F(FrameRing, CountsTheFramesThatWaitForEachReader) {
  const auto slow = reader(0, false, 3);
  const auto quick = reader(1, false, 2);
  EXPECT_EQ(observer_.pending_for(0), 0U);
  write(2);
  EXPECT_EQ(observer_.pending_for(0), 2U);
  EXPECT_EQ(read(*quick), 1U);
  const Lease held = take(*quick);
  EXPECT_EQ(observer_.pending_for(0), 2U);
  EXPECT_EQ(observer_.pending_for(1), 0U) << "what is held does not wait";
  EXPECT_EQ(observer_.pending_for(2), 0U) << "nobody has this seat";
  write(3);
  EXPECT_EQ(observer_.pending_for(0), 3U) << "no more than its queue";
  EXPECT_EQ(observer_.pending_for(1), 2U);
  for (unsigned slot = 0; slot < max_ring_slots; ++slot)
    memory_->header().slot[slot].control.store(~(std::uint64_t{1} << 32), std::memory_order_seq_cst);
  EXPECT_EQ(observer_.pending_for(0), observer_.memory().slots()) << "whatever is written there";
}

TEST_F(FrameRing, TellsHowManyFramesAndTheTimeOfTheNewest) {
  const auto reading = reader(0, false, 2);
  EXPECT_EQ(observer_.published(), 0U);
  EXPECT_FALSE(observer_.last_pts());
  for (std::uint64_t number = 1; number <= 300; ++number) {
    write();
    EXPECT_EQ(observer_.published(), number);
    EXPECT_EQ(observer_.last_pts(), pts_of(number));
  }
  EXPECT_FALSE(observer_.last_packet()) << "nothing was said of it";
  const auto slot = writer_.claim();
  ASSERT_TRUE(slot);
  FrameRecord record = record_of(301);
  record.packet = 4711;
  EXPECT_EQ(writer_.publish(slot->index, record), FrameRingWriter::Published::yes);
  writer_.unpin(slot->index);
  EXPECT_EQ(observer_.last_packet(), 4711);
}

class FrameRingOfALaterEpoch : public FrameRing {
 protected:
  FrameRingOfALaterEpoch()
      : FrameRing({.slots = 3, .slot_bytes = picture_bytes, .epoch = 2, .base = 1000, .last_sequence = 3}) {}
};

TEST_F(FrameRingOfALaterEpoch, CountsOn) {
  EXPECT_EQ(observer_.published(), 1000U);
  EXPECT_FALSE(observer_.last_pts());
  const auto reading = reader(0, true, 1);
  write();
  EXPECT_EQ(read(*reading), 1001U);
  EXPECT_EQ(observer_.published(), 1001U);
  EXPECT_EQ(memory_->description().epoch, 2U);
}

TEST_F(FrameRingOfALaterEpoch, IsExhaustedAfterItsLastSequence) {
  const auto reading = reader(0, false, 1);
  write(2);
  EXPECT_FALSE(writer_.exhausted());
  write();
  EXPECT_TRUE(writer_.exhausted());
  write();
  EXPECT_EQ(read(*reading), 1004U) << "it may still be used until its writer has changed over";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
