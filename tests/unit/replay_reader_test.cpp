// A reader that decodes: what its successor needs stays in the ring, as far as the ring is large enough.
#include "ipc/replay_reader.h"

#include <gtest/gtest.h>

#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/cpu_waits.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using Next = ReplayReader::Next;

constexpr std::size_t packet_bytes = 100;

class Replay : public testing::Test {
 protected:
  explicit Replay(std::size_t packets = 20)
      : memory_(PacketRingMemory::create(packets * packet_bytes, 1, 0)), writer_(memory_) {}

  [[nodiscard]] ReplayReader reader() const { return ReplayReader(PacketRingMemory::open(duplicate(memory_->fd()))); }

  bool push(bool key, Deadline deadline = Clock::now()) {
    std::vector<std::uint8_t> bytes(packet_bytes);
    fill_pattern(bytes, pushed_ + 1);
    if (!writer_.push(packet_of(pushed_ + 1, bytes, key), deadline, never)) return false;
    ++pushed_;
    return true;
  }
  // K: a key frame.
  void push_all(const std::string& packets) {
    for (const char kind : packets) ASSERT_TRUE(push(kind == 'K'));
  }

  // The next packet's number, if there is one, and it is whole.
  static std::optional<std::uint64_t> read(ReplayReader& reader) {
    PacketView packet;
    std::uint64_t number = 0;
    if (reader.next(packet, number, Clock::now()) != Next::packet) return std::nullopt;
    EXPECT_TRUE(has_pattern(packet.data, number)) << "packet " << number << " was overwritten";
    return number;
  }
  static void read_all(ReplayReader& reader) {
    while (read(reader)) continue;
  }
  // Where a successor would begin.
  [[nodiscard]] std::optional<std::uint64_t> kept() const {
    auto successor = reader();
    return read(successor);
  }

  std::shared_ptr<PacketRingMemory> memory_;
  PacketRingWriter writer_;
  std::uint64_t pushed_ = 0;
};

TEST_F(Replay, ASuccessorBeginsAtTheNewestKeyFrameThatWasShown) {
  auto reading = reader();
  push_all("KppKppKp");
  read_all(reading);
  EXPECT_EQ(kept(), 1U) << "no frame has been shown";
  for (const std::uint64_t shown : {1, 2, 3}) {
    reading.shown(shown);
    EXPECT_EQ(kept(), 1U) << "up to " << shown;
  }
  reading.shown(4);
  EXPECT_EQ(kept(), 4U);
  reading.shown(5);
  reading.shown(6);
  EXPECT_EQ(kept(), 4U) << "the next key frame has been read, but not shown";
  reading.shown(7);
  EXPECT_EQ(kept(), 7U);
  EXPECT_EQ(reading.given_up(), 0U);
}

// They are shown before the key frame that they come behind, and refer to frames before it.
TEST_F(Replay, FramesThatAreShownBeforeTheirKeyFrameGiveNothingBack) {
  auto reading = reader();
  push_all("KpKbbp");
  read_all(reading);
  for (const std::uint64_t shown : {1, 2, 4, 5}) {
    reading.shown(shown);
    EXPECT_EQ(kept(), 1U) << "after " << shown;
  }
  reading.shown(3);
  EXPECT_EQ(kept(), 3U);
}

TEST_F(Replay, ALaterKeyFrameGivesBackAllBeforeIt) {
  auto reading = reader();
  push_all("KpKpKp");
  read_all(reading);
  reading.shown(5);  // those before it came to nothing
  EXPECT_EQ(kept(), 5U);
  reading.shown(3);
  reading.shown(1);
  EXPECT_EQ(kept(), 5U);
}

TEST_F(Replay, AnEmptyDecoderNeedsNothing) {
  auto reading = reader();
  push_all("KppKp");
  read_all(reading);
  reading.all_shown();
  EXPECT_EQ(kept(), std::nullopt);
  push_all("Kp");
  EXPECT_EQ(kept(), 6U);
  read_all(reading);
  reading.shown(6);
  EXPECT_EQ(kept(), 6U);
}

TEST_F(Replay, WhatWasNotReadIsNotGivenBack) {
  auto reading = reader();
  push_all("KpKp");
  EXPECT_EQ(read(reading), 1U);
  reading.shown(3);  // of which it cannot know
  EXPECT_EQ(kept(), 1U);
  reading.all_shown();
  EXPECT_EQ(kept(), 2U);
}

TEST_F(Replay, ASuccessorGoesOnInTheSameWay) {
  {
    auto first = reader();
    push_all("KpKp");
    read_all(first);
    first.shown(3);
  }
  auto second = reader();
  EXPECT_EQ(read(second), 3U);
  push_all("Kp");
  read_all(second);
  second.shown(3);
  EXPECT_EQ(kept(), 3U);
  second.shown(5);
  EXPECT_EQ(kept(), 5U);
}

class SmallReplay : public Replay {
 protected:
  SmallReplay() : Replay(4) {}
};

// With a writer that waits for room, which it would not get for ever.
TEST_F(SmallReplay, AGroupThatIsLargerThanTheRingGoesThroughIt) {
  constexpr std::uint64_t packets = 50;
  std::latch measured(1);
  std::jthread author([&] {
    for (std::uint64_t n = 1; n <= packets; ++n) EXPECT_TRUE(push(n == 1, after(seconds(50))));
    writer_.close();
    measured.wait();  // what this thread waited for a CPU is known as long as it lives
  });
  auto reading = reader();
  const Stopwatch watch;
  PacketView packet;
  std::uint64_t number = 0;
  for (std::uint64_t n = 1; n <= packets; ++n) {
    EXPECT_EQ(reading.next(packet, number, after(seconds(50))), Next::packet);
    EXPECT_EQ(number, n);
    EXPECT_TRUE(has_pattern(packet.data, number));
    reading.shown(number);
  }
  EXPECT_EQ(reading.next(packet, number, after(seconds(50))), Next::ended);
  EXPECT_GT(reading.given_up(), 40U);
  EXPECT_LT(watch.elapsed(), milliseconds(900)) << "each time it was full somebody was woken, not at a deadline";
  measured.count_down();
}

TEST_F(SmallReplay, NothingIsGivenUpForAWriterThatAsksForNothing) {
  auto reading = reader();
  push_all("Kppp");
  read_all(reading);
  EXPECT_EQ(kept(), 1U);
  EXPECT_FALSE(push(false)) << "it does not wait, so nobody is asked";
  read_all(reading);
  EXPECT_EQ(kept(), 1U);
  EXPECT_EQ(reading.given_up(), 0U);
}

TEST_F(SmallReplay, AWriterThatWaitsGetsRoomFromAReaderThatSleeps) {
  auto reading = reader();
  push_all("Kppp");
  std::jthread follower([&] {
    PacketView packet;
    std::uint64_t number = 0;
    while (reading.next(packet, number, after(seconds(50))) == Next::packet) continue;
  });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(push(false, after(seconds(50))));
  writer_.close();
}

TEST_F(SmallReplay, AnUnreadRingIsNotGivenUp) {
  auto reading = reader();
  push_all("KppK");
  EXPECT_EQ(read(reading), 1U);
  EXPECT_FALSE(push(false, after(milliseconds(20))));
  EXPECT_EQ(reading.given_up(), 0U);
  EXPECT_EQ(kept(), 1U) << "its reader is slow, and what it has not read makes room by itself";
}

TEST_F(SmallReplay, WhatLiesBeforeTheNextKeyFrameIsGivenUpFirst) {
  auto reading = reader();
  push_all("KpKp");
  read_all(reading);
  EXPECT_FALSE(push(false, after(milliseconds(20))));
  read_all(reading);
  EXPECT_EQ(kept(), 3U);
  EXPECT_EQ(reading.given_up(), 2U);
  read_all(reading);
  EXPECT_EQ(kept(), 3U) << "that was an answer already";
  ASSERT_TRUE(push(false));
  read_all(reading);
  EXPECT_FALSE(push(false, after(milliseconds(20))));
  read_all(reading);
  EXPECT_EQ(kept(), std::nullopt);
  EXPECT_EQ(reading.given_up(), 5U);
}

TEST_F(SmallReplay, ASuccessorAnswersWhatItsPredecessorDidNot) {
  {
    auto first = reader();
    push_all("Kppp");
    read_all(first);
    EXPECT_FALSE(push(false, after(milliseconds(20))));
  }
  auto second = reader();
  read_all(second);
  EXPECT_EQ(second.given_up(), 3U) << "when it has read most";
  EXPECT_TRUE(push(true));
}

// Whatever else was given back since is room, too.
TEST_F(SmallReplay, ARequestIsOverWhenSomethingWasGivenBack) {
  auto reading = reader();
  push_all("KpKp");
  EXPECT_EQ(read(reading), 1U);
  EXPECT_FALSE(push(false, after(milliseconds(20))));
  read(reading);
  read(reading);
  reading.shown(3);
  read_all(reading);
  EXPECT_EQ(reading.given_up(), 0U);
  EXPECT_EQ(kept(), 3U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
