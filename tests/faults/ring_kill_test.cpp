// Readers and writers of a frame ring, each a process of its own, killed with SIGKILL at every step of the protocol.
// No slot stays held, no frame is delivered torn or twice, order holds, and the survivors go on.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <thread>

#include "ipc/frame_ring_layout.h"
#include "tests/faults/peer_process.h"
#include "tests/paths.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

const std::vector<std::string> reader_points{"ring.reader.attaching", "ring.reader.attached", "ring.reader.looked",
                                             "ring.reader.leased",    "ring.reader.used",     "ring.reader.done",
                                             "ring.reader.waiting",   "ring.reader.left"};
const std::vector<std::string> writer_points{"ring.writer.claimed",   "ring.writer.filled", "ring.writer.published",
                                             "ring.writer.indexed",   "ring.writer.head",   "ring.writer.reclaiming",
                                             "ring.writer.seeing_off"};
const std::set<std::string> points_of_the_other_tests{
    "packets.reader.releasing", "packets.reader.released", "packets.writer.asking",
    "packets.writer.filled",    "packets.writer.head",     "barrier.arriving",
    "barrier.arrived",          "group.arriving",          "group.arrived",
    "group.deciding",           "group.decided",           "group.settling",
    "hand_over.getting_ready",  "hand_over.ready",         "hand_over.passing",
    "hand_over.passed",         "hand_over.committing",    "hand_over.committed"};

// A step that is added to a protocol is to be killed at as well.
TEST(KillPoints, AreAllThatTheProtocolsHave) {
  std::set<std::string> found;
  const std::regex call(R"re(failpoint\("([^"]+)")re");
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(source_folder) / "ipc")) {
    std::ifstream in(file.path());
    const std::string text(std::istreambuf_iterator<char>(in), {});
    for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) found.insert((*at)[1]);
  }
  std::set<std::string> tested = points_of_the_other_tests;
  tested.insert(reader_points.begin(), reader_points.end());
  tested.insert(writer_points.begin(), writer_points.end());
  EXPECT_EQ(found, tested);
}

struct Seat {
  unsigned place;
  bool blocking;
  unsigned queue_size;
  unsigned hold;
};
constexpr Seat blocking_seat{0, true, 4, 1};
constexpr Seat dropping_seat{1, false, 2, 1};
constexpr Seat mortal_blocking_seat{2, true, 3, 2};
constexpr Seat mortal_dropping_seat{2, false, 3, 2};

// `frames`: after which it leaves; 0: never.
std::unique_ptr<Peer> start_reader(const Seat& seat, const std::string& failpoint = {}, unsigned frames = 0) {
  std::vector<std::string> arguments{"frame-reader", std::to_string(seat.place), seat.blocking ? "block" : "drop",
                                     std::to_string(seat.queue_size), std::to_string(seat.hold)};
  if (frames > 0) arguments.push_back(std::to_string(frames));
  return std::make_unique<Peer>(ring_peer_program, arguments, failpoint);
}

constexpr unsigned frames_until_leaving = 15;

void hand_over(Peer& peer, const FrameRingMemory& ring) {
  EXPECT_TRUE(peer.channel().send("ring", {}, {ring.control_fd(), ring.pixel_fd()}));
}

bool comes_alive(const FrameRingObserver& observer, unsigned place) {
  return eventually([&] { return observer.reader_state(place) == ReaderState::live; });
}

// Neither a lease nor a pending frame of the reader in `place`.
bool has_no_bits(const FrameRingMemory& memory, unsigned place) {
  for (unsigned slot = 0; slot < memory.description().slots; ++slot) {
    const auto control = ring::Control::unpack(memory.header().slot[slot].control.load());
    if (((control.held | control.pending) >> place & 1) != 0) return false;
  }
  return true;
}

// A ring that this process writes, with two survivors.
class ReaderKilled : public testing::TestWithParam<std::string> {
 protected:
  ReaderKilled()
      : memory_(FrameRingMemory::create({.slots = ring_slots, .slot_bytes = picture_bytes})),
        writer_(memory_),
        observer_(memory_),
        blocking_(start_reader(blocking_seat)),
        dropping_(start_reader(dropping_seat)) {}

  void SetUp() override {
    hand_over(*blocking_, *memory_);
    hand_over(*dropping_, *memory_);
    ASSERT_TRUE(comes_alive(observer_, blocking_seat.place));
    ASSERT_TRUE(comes_alive(observer_, dropping_seat.place));
    writing_ = std::jthread([this](const std::stop_token& stop) { write(stop); });
  }

  void write(const std::stop_token& stop) {
    const auto stopped = [&] { return stop.stop_requested(); };
    for (std::uint64_t number = 1; !stopped(); ++number) {
      if (!writer_.wait_for_room(after(seconds(50)), stopped)) break;
      const bool written = write_frame(writer_, number);
      EXPECT_TRUE(written) << "frame " << number << ": a slot stays held";
      if (!written) break;
      writer_.sleep_until(after(microseconds(500)), stopped);
    }
  }

  // The supervisor's part, and what must hold of the ring then.
  void bury(const Seat& seat) {
    observer_.mark_reader_gone(seat.place);
    ASSERT_TRUE(eventually([&] { return observer_.reader_state(seat.place) == ReaderState::empty; }));
    EXPECT_TRUE(has_no_bits(*memory_, seat.place));
  }

  void kill_reader(const Seat& seat, const std::string& failpoint) {
    SCOPED_TRACE(failpoint + (seat.blocking ? " blocking" : " dropping"));
    ASSERT_EQ(observer_.reader_state(seat.place), ReaderState::empty);
    const bool leaves = GetParam() == "ring.reader.left";
    const auto mortal = start_reader(seat, failpoint, leaves ? frames_until_leaving : 0);
    hand_over(*mortal, *memory_);
    CpuWaits waits = waits_of({blocking_.get(), dropping_.get(), mortal.get()});
    const auto died = mortal->wait_gone();
    ASSERT_TRUE(died && mortal->was_killed());
    ASSERT_NO_FATAL_FAILURE(bury(seat));

    const auto successor = start_reader(seat);
    waits.add({successor->pid()});
    hand_over(*successor, *memory_);
    ASSERT_TRUE(eventually([&] { return successor->delivered() >= 20; }));
    ASSERT_TRUE(eventually([&] { return last_number(blocking_->journal()) >= last_number(successor->journal()); }));
    const std::int64_t gap =
        std::max(longest_gap(blocking_->journal(), *died), longest_gap(dropping_->journal(), *died));
    EXPECT_LE(gap, go_on_ns(waits));
    successor->kill();
    ASSERT_NO_FATAL_FAILURE(bury(seat));

    EXPECT_GT(first_number(successor->journal()), last_number(mortal->journal())) << "delivered twice";
    expect_sound(mortal->journal(), seat.blocking, "the killed reader");
    expect_sound(successor->journal(), seat.blocking, "its successor");
  }

  void finish() {
    writing_ = {};
    writer_.close();
    ASSERT_TRUE(blocking_->wait_gone() && blocking_->ended_well());
    ASSERT_TRUE(dropping_->wait_gone() && dropping_->ended_well());
    expect_sound(blocking_->journal(), true, "the blocking survivor");
    expect_sound(dropping_->journal(), false, "the dropping survivor");
    EXPECT_EQ(first_number(blocking_->journal()), 1U);
    EXPECT_EQ(last_number(blocking_->journal()), observer_.published());
    EXPECT_EQ(last_number(dropping_->journal()), observer_.published());
    for (unsigned slot = 0; slot < ring_slots; ++slot) EXPECT_TRUE(writer_.claim()) << "a slot stays held";
  }

  std::shared_ptr<FrameRingMemory> memory_;
  FrameRingWriter writer_;
  FrameRingObserver observer_;
  std::unique_ptr<Peer> blocking_;
  std::unique_ptr<Peer> dropping_;
  std::jthread writing_;
};

TEST_P(ReaderKilled, LeavesNothingBehind) {
  // A process gets there once.
  const bool once = GetParam().find("attach") != std::string::npos || GetParam() == "ring.reader.left";
  for (const Seat& seat : {mortal_blocking_seat, mortal_dropping_seat}) {
    for (const int count : once ? std::vector{1} : std::vector{1, 2, 15}) {
      kill_reader(seat, kill_at(GetParam(), count));
      if (HasFatalFailure()) return;
    }
  }
  finish();
}

std::string name_of_point(const testing::TestParamInfo<std::string>& of) {
  std::string name = of.param;
  std::ranges::replace(name, '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(At, ReaderKilled, testing::ValuesIn(reader_points), name_of_point);

constexpr std::uint64_t first_base = 1000;
constexpr std::uint64_t frames_of_successor = 40;

struct WriterProcess {
  std::unique_ptr<Peer> peer;
  std::shared_ptr<FrameRingMemory> memory;  // as the supervisor sees it
};

WriterProcess start_writer(int epoch, std::uint64_t base, std::uint64_t frames, const std::string& failpoint = {}) {
  WriterProcess writer;
  writer.peer = std::make_unique<Peer>(
      ring_peer_program,
      std::vector<std::string>{"frame-writer", std::to_string(epoch), std::to_string(base), std::to_string(frames)},
      failpoint);
  auto message = writer.peer->receive();
  if (!message || message->fds.size() != 2) throw Error("the writer sent no ring");
  writer.memory =
      FrameRingMemory::open(std::move(message->fds[0]), std::move(message->fds[1]), FrameRingMemory::Role::observer);
  return writer;
}

class WriterKilled : public testing::TestWithParam<std::string> {
 protected:
  // Gives the ring to both readers, then lets its writer go.
  void begin(WriterProcess& writer) {
    const FrameRingObserver observer(writer.memory);
    for (auto* reader : {blocking_.get(), dropping_.get()}) hand_over(*reader, *writer.memory);
    ASSERT_TRUE(comes_alive(observer, blocking_seat.place));
    ASSERT_TRUE(comes_alive(observer, dropping_seat.place));
    ASSERT_TRUE(writer.peer->channel().send("go", {}));
  }

  // So that the writer has something to reclaim.
  static void kill_a_reader(const WriterProcess& writer) {
    FrameRingObserver observer(writer.memory);
    const auto mortal = start_reader(mortal_blocking_seat);
    hand_over(*mortal, *writer.memory);
    ASSERT_TRUE(eventually([&] { return mortal->delivered() >= 5; }));
    mortal->kill();
    observer.mark_reader_gone(mortal_blocking_seat.place);
  }

  // So that the writer has one to see off.
  static void let_a_reader_leave(const WriterProcess& writer) {
    const auto leaving = start_reader(mortal_blocking_seat, {}, frames_until_leaving);
    hand_over(*leaving, *writer.memory);
    ASSERT_TRUE(leaving->wait_gone() && leaving->ended_well());
  }

  static void expect_told_in_time(const Peer& reader, std::int64_t marked, const CpuWaits& waits) {
    ASSERT_TRUE(eventually([&] { return reader.journal().rings.load() == 1; }));
    EXPECT_EQ(reader.journal().end.load(), JournalEnd::writer_gone);
    EXPECT_LE(reader.journal().ended_at.load() - marked, go_on_ns(waits));
  }

  void expect_exactly(std::uint64_t published) {
    expect_sound(blocking_->journal(), true, "the blocking reader");
    expect_sound(dropping_->journal(), false, "the dropping reader");
    EXPECT_EQ(blocking_->delivered(), published - first_base);
    if (published == first_base) {
      EXPECT_EQ(dropping_->delivered(), 0U);
      return;
    }
    EXPECT_EQ(first_number(blocking_->journal()), first_base + 1);
    EXPECT_EQ(last_number(blocking_->journal()), published);
    EXPECT_EQ(last_number(dropping_->journal()), published);
  }

  void kill_writer(int count) {
    SCOPED_TRACE(kill_at(GetParam(), count));
    blocking_ = start_reader(blocking_seat);
    dropping_ = start_reader(dropping_seat);
    WriterProcess writer = start_writer(1, first_base, 1'000'000, kill_at(GetParam(), count));
    FrameRingObserver observer(writer.memory);
    ASSERT_NO_FATAL_FAILURE(begin(writer));
    if (GetParam() == "ring.writer.reclaiming") {
      ASSERT_NO_FATAL_FAILURE(kill_a_reader(writer));
    }
    if (GetParam() == "ring.writer.seeing_off") {
      ASSERT_NO_FATAL_FAILURE(let_a_reader_leave(writer));
    }
    const CpuWaits waits = waits_of({blocking_.get(), dropping_.get()});
    const auto died = writer.peer->wait_gone();
    ASSERT_TRUE(died && writer.peer->was_killed());
    observer.mark_writer_gone();
    for (const auto* reader : {blocking_.get(), dropping_.get()}) expect_told_in_time(*reader, *died, waits);
    const std::uint64_t published = observer.published();
    expect_exactly(published);
    ASSERT_NO_FATAL_FAILURE(go_on_from(published));
  }

  // A ring of the next epoch, for the same readers.
  void go_on_from(std::uint64_t published) {
    WriterProcess successor = start_writer(2, published, frames_of_successor);
    ASSERT_NO_FATAL_FAILURE(begin(successor));
    ASSERT_TRUE(successor.peer->wait_gone() && successor.peer->ended_well());
    ASSERT_TRUE(blocking_->wait_gone() && blocking_->ended_well());
    ASSERT_TRUE(dropping_->wait_gone() && dropping_->ended_well());
    EXPECT_EQ(blocking_->journal().end.load(), JournalEnd::ended);
    EXPECT_EQ(FrameRingObserver(successor.memory).published(), published + frames_of_successor);
    expect_exactly(published + frames_of_successor);
  }

  std::unique_ptr<Peer> blocking_;
  std::unique_ptr<Peer> dropping_;
};

TEST_P(WriterKilled, ReadersGetWhatWasPublishedAndGoOnWithTheNextRing) {
  for (const int count : {1, 2, 17}) {
    kill_writer(count);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(At, WriterKilled, testing::ValuesIn(writer_points), name_of_point);

// What head says is what there is: a death before it is stored publishes nothing, a death after it publishes the frame.
TEST(WriterKilledAtItsFirstFrame, PublishesItWithHeadAndNotBefore) {
  for (const std::string& point : writer_points) {
    if (point == "ring.writer.reclaiming" || point == "ring.writer.seeing_off") continue;
    WriterProcess writer = start_writer(1, first_base, 10, kill_at(point, 1));
    const auto reader = start_reader(blocking_seat);
    hand_over(*reader, *writer.memory);
    const FrameRingObserver observer(writer.memory);
    ASSERT_TRUE(comes_alive(observer, blocking_seat.place));
    ASSERT_TRUE(writer.peer->channel().send("go", {}));
    ASSERT_TRUE(writer.peer->wait_gone() && writer.peer->was_killed()) << point;
    EXPECT_EQ(observer.published(), point == "ring.writer.head" ? first_base + 1 : first_base) << point;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
