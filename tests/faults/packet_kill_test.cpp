// Writer and reader of a packet ring, each a process of its own, killed with SIGKILL at every step of the protocol.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "ipc/packet_ring.h"
#include "tests/faults/peer_process.h"
#include "tests/paths.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

std::unique_ptr<Peer> start_reader(const PacketRingMemory& ring, unsigned batch, const std::string& failpoint = {}) {
  auto reader = std::make_unique<Peer>(ring_peer_program,
                                       std::vector<std::string>{"packet-reader", std::to_string(batch)}, failpoint);
  EXPECT_TRUE(reader->channel().send("ring", {}, {ring.fd()}));
  return reader;
}

void expect_ended(Peer& reader) {
  ASSERT_TRUE(reader.wait_gone() && reader.ended_well());
  EXPECT_EQ(reader.journal().end.load(), JournalEnd::ended);
}

// This process writes.
class Writing {
 public:
  // One packet in `group` is a key frame.
  Writing(std::shared_ptr<PacketRingMemory> memory, std::uint64_t last, microseconds pace = microseconds(0),
          std::uint64_t group = 1'000'000)
      : memory_(std::move(memory)), last_(last), pace_(pace), group_(group) {}

  [[nodiscard]] std::uint64_t pushed() const { return pushed_.load(); }
  void end() { thread_.join(); }
  // Ends with the packet that is being written now.
  void cut_short() { last_ = 0; }

 private:
  void run(const std::stop_token& stop) {
    PacketRingWriter writer(memory_);
    std::vector<std::uint8_t> bytes;
    for (std::uint64_t number = 1; number <= last_; ++number) {
      bytes.resize(packet_size(number));
      fill_pattern(bytes, number);
      const PacketView packet = packet_of(number, bytes, number % group_ == 1);
      const bool pushed = writer.push(packet, after(seconds(50)), [&] { return stop.stop_requested(); });
      EXPECT_TRUE(pushed) << "packet " << number;
      if (!pushed) break;
      pushed_ = number;
      if (pace_.count() != 0) std::this_thread::sleep_for(pace_);
    }
    writer.close();
  }

  std::shared_ptr<PacketRingMemory> memory_;
  std::atomic<std::uint64_t> last_;
  microseconds pace_;
  std::uint64_t group_;
  std::atomic<std::uint64_t> pushed_{0};
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

class PacketReaderKilled : public testing::TestWithParam<std::string> {
 protected:
  static constexpr std::uint64_t packets = 400;
};

TEST_P(PacketReaderKilled, ASuccessorFindsAllThatWasNotReleased) {
  for (const int count : {1, 2, 9}) {
    for (const unsigned batch : {1U, 5U}) {
      SCOPED_TRACE(kill_at(GetParam(), count) + " batch " + std::to_string(batch));
      const auto memory = PacketRingMemory::create(packet_capacity, 1, 0);
      Writing writing(memory, packets);
      const auto mortal = start_reader(*memory, batch, kill_at(GetParam(), count));
      ASSERT_TRUE(mortal->wait_gone() && mortal->was_killed());
      const auto& journal = mortal->journal();
      const bool was_released = GetParam() == "packets.reader.released";
      const std::uint64_t released = was_released ? journal.releasing.load() : journal.released.load();
      EXPECT_EQ(released, static_cast<std::uint64_t>(was_released ? count : count - 1) * batch);

      const auto successor = start_reader(*memory, batch);
      ASSERT_NO_FATAL_FAILURE(expect_ended(*successor));
      writing.end();
      expect_sound(journal, true, "the killed reader");
      expect_sound(successor->journal(), true, "its successor");
      EXPECT_EQ(first_number(journal), 1U);
      EXPECT_EQ(first_number(successor->journal()), released + 1) << "lost, or again after it was released";
      EXPECT_EQ(last_number(successor->journal()), packets);
      EXPECT_EQ(successor->journal().released.load(), packets);
    }
  }
}

// The reader frees room and dies before it can tell: the writer, who waits for room, finds it by itself.
TEST(PacketReaderKilledHavingReleased, DoesNotKeepTheWriterWaiting) {
  const auto memory = PacketRingMemory::create(packet_capacity, 1, 0);
  Writing writing(memory, 1'000);
  const PacketRingReader watcher(memory);
  ASSERT_TRUE(eventually([&] { return watcher.writer_waits(); }));
  const std::uint64_t before = writing.pushed();
  const auto mortal = start_reader(*memory, 10, kill_at("packets.reader.released", 1));
  const CpuWaits waits = waits_of({});
  const auto died = mortal->wait_gone();
  ASSERT_TRUE(died && mortal->was_killed());
  ASSERT_TRUE(eventually([&] { return writing.pushed() > before; }));
  EXPECT_LE(now_ns() - *died, go_on_ns(waits));
  const auto successor = start_reader(*memory, 10);
  ASSERT_NO_FATAL_FAILURE(expect_ended(*successor));
  EXPECT_EQ(first_number(successor->journal()), 11U);
  EXPECT_EQ(last_number(successor->journal()), 1'000U);
}

// A reader that is killed at no particular step, again and again. Its note of what it has released may lag one batch
// behind the ring.
TEST(PacketReaderKilledAnywhere, NothingIsLostOrTornOrComesAgain) {
  const auto memory = PacketRingMemory::create(packet_capacity, 1, 0);
  Writing writing(memory, 1'000'000'000, microseconds(50));  // while there are readers to kill
  std::uint64_t released = 0;
  std::uint64_t releasing = 0;
  const auto check = [&](const Journal& journal) {
    expect_sound(journal, true, "a reader");
    EXPECT_GT(first_number(journal), released) << "delivered again after it was released";
    EXPECT_LE(first_number(journal), std::max(released, releasing) + 1) << "lost";
    released = std::max(released, journal.released.load());
    releasing = journal.releasing.load();
  };
  for (unsigned round = 0; round < 10; ++round) {
    const auto mortal = start_reader(*memory, 1 + round % 4);
    ASSERT_TRUE(eventually([&] { return mortal->delivered() >= 20 + 31 * round; }));
    mortal->kill();
    check(mortal->journal());
  }
  writing.cut_short();
  const auto last = start_reader(*memory, 4);
  ASSERT_TRUE(last->wait_gone() && last->ended_well());
  if (last->delivered() > 0) check(last->journal());  // the others may have had all of them
  writing.end();
  EXPECT_EQ(released, writing.pushed());
}

std::unique_ptr<Peer> start_decoder(const PacketRingMemory& ring, std::uint64_t handed_on,
                                    const std::string& failpoint = {}) {
  auto reader = std::make_unique<Peer>(
      ring_peer_program, std::vector<std::string>{"packet-decoder", std::to_string(handed_on)}, failpoint);
  EXPECT_TRUE(reader->channel().send("ring", {}, {ring.fd()}));
  return reader;
}

// What its successor does not find any more it has handed on, as it is shown.
class PacketDecoderKilled : public testing::TestWithParam<std::string> {};

TEST_P(PacketDecoderKilled, ASuccessorDecodesAgainAndMissesNothing) {
  constexpr std::uint64_t packets = 400;
  for (const int count : {1, 2, 9}) {
    SCOPED_TRACE(kill_at(GetParam(), count));
    const auto memory = PacketRingMemory::create(packet_capacity, 1, 0);
    Writing writing(memory, packets, microseconds(0), 5);
    const auto mortal = start_decoder(*memory, 0, kill_at(GetParam(), count));
    ASSERT_TRUE(mortal->wait_gone() && mortal->was_killed());
    const std::uint64_t handed_on = last_number(mortal->journal());
    EXPECT_EQ(handed_on, static_cast<std::uint64_t>(5 * count + 1)) << "it dies at a key frame that has been shown";
    const auto successor = start_decoder(*memory, handed_on);
    ASSERT_NO_FATAL_FAILURE(expect_ended(*successor));
    writing.end();
    expect_sound(mortal->journal(), true, "the killed decoder");
    expect_sound(successor->journal(), true, "its successor");
    EXPECT_EQ(first_number(successor->journal()), handed_on + 1);
    EXPECT_EQ(last_number(successor->journal()), packets);
    EXPECT_EQ(mortal->journal().given_up + successor->journal().given_up, 0U) << "the ring has room for all";
  }
}

TEST(PacketDecoderKilledAnywhere, NoFrameIsLostOrComesAgain) {
  const auto memory = PacketRingMemory::create(packet_capacity, 1, 0);
  Writing writing(memory, 1'000'000'000, microseconds(50), 5);
  std::uint64_t handed_on = 0;
  const auto check = [&](const Journal& journal) {
    expect_sound(journal, true, "a decoder");
    if (journal.count > 0) {
      EXPECT_EQ(first_number(journal), handed_on + 1);
      handed_on = last_number(journal);
    }
    EXPECT_EQ(journal.given_up, 0U);
  };
  for (unsigned round = 0; round < 10; ++round) {
    const auto mortal = start_decoder(*memory, handed_on);
    ASSERT_TRUE(eventually([&] { return mortal->delivered() >= 20 + 31 * round; }));
    mortal->kill();
    check(mortal->journal());
  }
  writing.cut_short();
  const auto last = start_decoder(*memory, handed_on);
  ASSERT_TRUE(last->wait_gone() && last->ended_well());
  check(last->journal());
  writing.end();
  EXPECT_EQ(handed_on, writing.pushed());
}

// A group of packets is larger than the ring: a death costs frames up to the next key frame, and no more.
TEST(PacketDecoderKilledAnywhere, LosesFramesUpToAKeyFrameWhereTheRingIsTooSmall) {
  constexpr std::uint64_t group = 200;
  const auto memory = PacketRingMemory::create(packet_capacity, 1, 0);
  Writing writing(memory, 1'000'000'000, microseconds(50), group);
  std::uint64_t handed_on = 0;
  std::uint64_t gaps = 0;
  for (unsigned round = 0; round < 6; ++round) {
    const auto mortal = start_decoder(*memory, handed_on);
    ASSERT_TRUE(eventually([&] { return mortal->delivered() >= 150 + 77 * round; }));
    mortal->kill();
    const Journal& journal = mortal->journal();
    expect_sound(journal, true, "a decoder");
    EXPECT_GT(journal.given_up, 0U);
    const std::uint64_t first = first_number(journal);
    if (first != handed_on + 1) {
      EXPECT_EQ(first % group, 1U) << "it begins at a key frame";
      EXPECT_LE(first, handed_on + group + packet_capacity / 1000) << "at the next one";
      ++gaps;
    }
    handed_on = last_number(journal);
  }
  EXPECT_GT(gaps, 0U) << "or the ring is large enough after all";
  writing.cut_short();
  const auto last = start_decoder(*memory, handed_on);
  ASSERT_TRUE(last->wait_gone() && last->ended_well());
  writing.end();
}

constexpr std::uint64_t first_base = 700;

struct WriterProcess {
  std::unique_ptr<Peer> peer;
  std::shared_ptr<PacketRingMemory> memory;  // as the supervisor sees it
};

WriterProcess start_writer(int epoch, std::uint64_t base, std::uint64_t packets, const std::string& failpoint = {}) {
  WriterProcess writer;
  writer.peer = std::make_unique<Peer>(
      ring_peer_program,
      std::vector<std::string>{"packet-writer", std::to_string(epoch), std::to_string(base), std::to_string(packets)},
      failpoint);
  auto message = writer.peer->receive();
  if (!message || message->fds.size() != 1) throw Error("the writer sent no ring");
  writer.memory = PacketRingMemory::open(std::move(message->fds[0]));
  return writer;
}

class PacketWriterKilled : public testing::TestWithParam<std::string> {};

TEST_P(PacketWriterKilled, TheReaderGetsWhatWasPublishedThenGoesOnWithTheNextRing) {
  for (const int count : {1, 2, 300}) {
    SCOPED_TRACE(kill_at(GetParam(), count));
    WriterProcess writer = start_writer(1, first_base, 1'000'000, kill_at(GetParam(), count));
    const auto reader = start_reader(*writer.memory, 3);
    const CpuWaits waits = waits_of({reader.get()});
    ASSERT_TRUE(writer.peer->channel().send("go", {}));
    const auto died = writer.peer->wait_gone();
    ASSERT_TRUE(died && writer.peer->was_killed());
    PacketRingObserver observer(writer.memory);
    observer.mark_writer_gone();
    const auto& journal = reader->journal();
    ASSERT_TRUE(reader->ends());
    EXPECT_LE(journal.ended_at.load() - *died, go_on_ns(waits));
    ASSERT_TRUE(reader->wait_gone() && reader->ended_well());
    EXPECT_EQ(journal.end.load(), JournalEnd::writer_gone);
    const auto published = static_cast<std::uint64_t>(GetParam() == "packets.writer.head" ? count : count - 1);
    EXPECT_EQ(observer.published(), first_base + published);
    expect_sound(journal, true, "the reader");
    EXPECT_EQ(reader->delivered(), published);
    EXPECT_EQ(last_number(journal), published == 0 ? 0 : first_base + published);

    const WriterProcess successor = start_writer(2, observer.published(), 30);
    const auto next_reader = start_reader(*successor.memory, 3);
    ASSERT_TRUE(successor.peer->channel().send("go", {}));
    ASSERT_NO_FATAL_FAILURE(expect_ended(*next_reader));
    expect_sound(next_reader->journal(), true, "the next reader");
    EXPECT_EQ(first_number(next_reader->journal()), observer.published() + 1);
    EXPECT_EQ(next_reader->delivered(), 30U);
  }
}

TEST(PacketWriterKilledAskingForRoom, LeavesAllThatItWrote) {
  WriterProcess writer = start_writer(1, first_base, 1'000'000, kill_at("packets.writer.asking", 1));
  ASSERT_TRUE(writer.peer->channel().send("go", {}));
  ASSERT_TRUE(writer.peer->wait_gone() && writer.peer->was_killed());
  PacketRingObserver observer(writer.memory);
  observer.mark_writer_gone();
  ASSERT_GT(observer.published(), first_base + 10);
  const auto reader = start_reader(*writer.memory, 3);
  ASSERT_TRUE(reader->wait_gone() && reader->ended_well());
  expect_sound(reader->journal(), true, "the reader");
  EXPECT_EQ(reader->journal().end.load(), JournalEnd::writer_gone);
  EXPECT_EQ(first_number(reader->journal()), first_base + 1);
  EXPECT_EQ(last_number(reader->journal()), observer.published());
}

std::string name_of_point(const testing::TestParamInfo<std::string>& of) {
  std::string name = of.param;
  std::ranges::replace(name, '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(At, PacketReaderKilled, testing::Values("packets.reader.releasing", "packets.reader.released"),
                         name_of_point);
INSTANTIATE_TEST_SUITE_P(At, PacketDecoderKilled,
                         testing::Values("packets.reader.releasing", "packets.reader.released"), name_of_point);
INSTANTIATE_TEST_SUITE_P(At, PacketWriterKilled, testing::Values("packets.writer.filled", "packets.writer.head"),
                         name_of_point);

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
