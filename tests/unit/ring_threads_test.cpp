// The rings and the barrier under load, by threads on ONE mapping of the memory, so that a thread sanitizer sees
// every access of both sides. What must hold is what holds between processes.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "ipc/barrier.h"
#include "ipc/frame_ring.h"
#include "ipc/packet_ring.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr std::uint64_t frames = 30'000;
constexpr std::uint64_t packets = 60'000;

// Drops in a thread of its own what a reader has done with, as an encoder's thread does. Takes at most two at a time,
// so that no reader holds more than its share of the slots.
class Dropper {
 public:
  static constexpr std::size_t most = 2;

  // False: it has enough.
  bool offer(FrameRingReader::Lease& lease) {
    const std::lock_guard lock(mutex_);
    if (leases_.size() == most) return false;
    leases_.push_back(std::move(lease));
    return true;
  }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::deque<FrameRingReader::Lease> taken;
      {
        const std::lock_guard lock(mutex_);
        taken.swap(leases_);
      }
      for (const auto& lease : taken) EXPECT_TRUE(intact(lease)) << "frame " << lease.number;
      std::this_thread::sleep_for(microseconds(50));
    }
  }

  std::mutex mutex_;
  std::deque<FrameRingReader::Lease> leases_;
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

struct Plan {
  unsigned place = 0;
  bool blocking = false;
  unsigned queue_size = 1;
  microseconds work{0};
};

struct Seen {
  std::uint64_t count = 0;
  std::uint64_t last = 0;
};

// Reads until the end; every third lease is dropped by another thread.
Seen read_all(FrameRingReader& reader, const Plan& plan) {
  Dropper dropper;
  Seen seen;
  for (;;) {
    FrameRingReader::Lease lease;
    const auto next = reader.next(lease, after(seconds(30)));
    if (next != FrameRingReader::Next::frame) {
      EXPECT_EQ(next, FrameRingReader::Next::ended) << "reader " << plan.place;
      return seen;
    }
    EXPECT_GT(lease.number, seen.last) << "reader " << plan.place;
    EXPECT_TRUE(intact(lease)) << "frame " << lease.number;
    seen.last = lease.number;
    if (++seen.count % 3 == 0 && dropper.offer(lease)) continue;
    if (plan.work.count() != 0) std::this_thread::sleep_for(plan.work);
    EXPECT_TRUE(intact(lease)) << "frame " << lease.number << " after the work";
  }
}

// Each reader: its queue, one in work, what its dropper has and what waits for it.
constexpr unsigned slots_for(std::span<const Plan> plans) {
  unsigned slots = 2;
  for (const Plan& plan : plans) slots += plan.queue_size + 1 + 2 * Dropper::most;
  return slots;
}

TEST(RingThreads, FramesAreWholeInOrderAndComplete) {
  static constexpr std::array<Plan, 3> plans{{{0, true, 3}, {1, false, 2}, {2, false, 2, microseconds(300)}}};
  const auto memory = FrameRingMemory::create({.slots = slots_for(plans), .slot_bytes = picture_bytes});
  FrameRingWriter writer(memory);
  std::array<Seen, plans.size()> seen;
  std::vector<std::unique_ptr<FrameRingReader>> readers;
  for (const Plan& plan : plans) {
    readers.push_back(std::make_unique<FrameRingReader>(memory, plan.place));
    reserve_seat(memory, plan.place);
    readers.back()->attach(plan.blocking, plan.queue_size);
  }
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    threads.emplace_back([&, i] { seen[i] = read_all(*readers[i], plans[i]); });
  }
  for (std::uint64_t number = 1; number <= frames; ++number) {
    const bool written = writer.wait_for_room(after(seconds(30)), never) && write_frame(writer, number);
    EXPECT_TRUE(written) << "frame " << number;
    if (!written) break;
  }
  writer.close();
  threads.clear();
  const std::uint64_t taken_back = recalled_of(writer);
  EXPECT_EQ(seen[0].count, frames) << "the blocking reader gets every frame";
  for (const Seen& each : seen) EXPECT_EQ(each.last, frames) << "nobody misses the newest";
  EXPECT_EQ(seen[1].count + seen[2].count + taken_back, 2 * frames) << "each frame was read or taken back";
  EXPECT_GT(taken_back, 0U);
  for (unsigned slot = 0; slot < slots_for(plans); ++slot) EXPECT_TRUE(writer.claim()) << "a slot stays held";
}

// Leases begin and end in all threads at once while readers die and come again.
TEST(RingThreads, PlacesAreGivenAgainWhileFramesFlow) {
  const auto memory = FrameRingMemory::create({.slots = 12, .slot_bytes = picture_bytes});
  FrameRingWriter writer(memory);
  FrameRingObserver observer(memory);
  FrameRingReader survivor(memory, 0);
  reserve_seat(memory, 0);
  survivor.attach(true, 2);
  std::jthread reading([&] { EXPECT_GT(read_all(survivor, {}).count, 0U); });
  std::jthread writing([&](const std::stop_token& stop) {
    const auto stopped = [&] { return stop.stop_requested(); };
    for (std::uint64_t number = 1; !stopped(); ++number) {
      if (!writer.wait_for_room(after(seconds(30)), stopped)) break;
      const bool written = write_frame(writer, number);
      EXPECT_TRUE(written) << "a slot stays held";
      if (!written) break;
    }
    writer.close();
  });
  for (int round = 0; round < 300; ++round) {
    {
      FrameRingReader mortal(memory, 1);
      reserve_seat(memory, 1);
      mortal.attach(round % 2 == 0, 2);
      FrameRingReader::Lease lease;
      EXPECT_EQ(mortal.next(lease, after(seconds(10))), FrameRingReader::Next::frame);
      EXPECT_TRUE(intact(lease));
    }
    observer.mark_reader_gone(1);
    ASSERT_TRUE(eventually([&] { return observer.reader_state(1) == ReaderState::empty; }));
  }
}

void push_all(PacketRingWriter& writer) {
  std::mt19937 random(11);  // NOLINT: the same sequence every time
  std::vector<std::uint8_t> bytes;
  for (std::uint64_t number = 1; number <= packets; ++number) {
    bytes.resize(1 + random() % 700);
    fill_pattern(bytes, number);
    const bool pushed = writer.push(packet_of(number, bytes), after(seconds(30)), never);
    EXPECT_TRUE(pushed) << "packet " << number;
    if (!pushed) break;
  }
  writer.close();
}

TEST(RingThreads, PacketsAreWholeInOrderAndComplete) {
  const auto memory = PacketRingMemory::create(8'000, 1, 0);
  std::jthread pushing([&] {
    PacketRingWriter writer(memory);
    push_all(writer);
  });
  PacketRingReader reader(memory);
  std::deque<PacketView> kept;
  std::uint64_t expected = 1;
  for (;;) {
    PacketView packet;
    std::uint64_t number = 0;
    const auto next = reader.next(packet, number, after(seconds(30)));
    if (next != PacketRingReader::Next::packet) {
      EXPECT_EQ(next, PacketRingReader::Next::ended);
      break;
    }
    EXPECT_EQ(number, expected++);
    EXPECT_EQ(packet.dts, pts_of(number));
    kept.push_back(packet);
    EXPECT_LE(reader.fill(), 1.0);
    if (kept.size() < 1 + number % 7) continue;
    // The oldest was read long ago, and must still be whole.
    EXPECT_TRUE(has_pattern(kept.front().data, number + 1 - kept.size()));
    reader.release_through(number);
    kept.clear();
  }
  EXPECT_EQ(expected, packets + 1);
}

TEST(RingThreads, TheBarrierOrdersWhatIsWrittenAroundIt) {
  constexpr unsigned members = 3;
  constexpr std::uint32_t phases = 3'000;
  Barrier::Word word{0};
  std::array<std::uint32_t, members> plain{};  // not atomic: the barrier alone orders these
  for (unsigned member = 0; member < members; ++member) Barrier(word).add(member);
  std::vector<std::jthread> threads;
  for (unsigned member = 0; member < members; ++member) {
    threads.emplace_back([&, member] {
      Barrier barrier(word);
      for (std::uint32_t phase = 0; phase < phases; phase += 2) {
        plain[member] = phase + 1;
        barrier.arrive(member, phase);
        EXPECT_EQ(barrier.wait(phase, after(seconds(30))), 0U);
        for (const std::uint32_t other : plain) EXPECT_EQ(other, phase + 1);
        barrier.arrive(member, phase + 1);
        EXPECT_EQ(barrier.wait(phase + 1, after(seconds(30))), 0U);
      }
    });
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
