// Frames that two tiles make of one source, as a join takes them: whole ones in their order, and each that lacks a part
// given up, at once where it is known that the part will not come.
#include "app/worker/join_input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "app/control/messages/run_node.h"
#include "ipc/drop_causes.h"
#include "ipc/edge_blocks.h"
#include "ipc/rig_page.h"
#include "tests/unit/cpu_waits.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr int width = 64;
constexpr int height = 48;
const FrameFormat source{.width = width, .height = height};
const std::vector<FilterConfig> filters{{"sharpen", {}}, {"motion", {}}};
const std::vector<EdgeId> edges{EdgeId(0), EdgeId(1)};

// One tile's ring, as its node writes it. Frame n is grey: 40 + n.
class Tile {
 public:
  Tile(int index, const BandSource& of = {source, 0}, int rows = height / 2) : index_(index), rows_(rows) {
    FrameRingSpec spec;
    spec.slots = 24;
    spec.slot_bytes = 8192;
    spec.band_source = of;
    spec.expected = format();
    writer_ = std::make_unique<FrameRingWriter>(FrameRingMemory::create(spec));
  }

  [[nodiscard]] FrameFormat format() const { return {.width = width, .height = rows_}; }

  void offer(JoinInput& join) {
    const auto memory = reopen(writer_->memory(), FrameRingMemory::Role::reader);
    reserve_seat(memory, 0);
    join.add(edges[static_cast<std::size_t>(index_)], {memory, 0, 25, 0});
    ASSERT_TRUE(writer_->wait_for_reader(after(seconds(10)), never));
  }

  void publish(std::uint64_t number) {
    const auto slot = writer_->claim();
    ASSERT_TRUE(slot);
    std::ranges::fill(slot->pixels, static_cast<std::uint8_t>(40 + number));
    FrameRecord record;
    record.format = format();
    record.offset = {0, 4096, 6144};
    record.stride = {width, width / 2, width / 2};
    record.times.pts = static_cast<std::int64_t>(number) * 1000;
    record.source_number = number;
    ASSERT_EQ(writer_->publish(slot->index, record), FrameRingWriter::Published::yes);
    writer_->unpin(slot->index);
  }
  void drop(std::uint64_t number) { writer_->resolve(number); }
  void close() { writer_->close(); }
  // As nobody does who is sane.
  void claim_resolved(std::uint64_t number) {
    ring::Header& header = writer_->memory().header();
    header.resolved.store(number);
    header.news.fetch_add(1);
  }
  // All that was taken has been given back.
  bool drained() {
    return eventually([this] { return writer_->drained(); });
  }

 private:
  int index_;
  int rows_;
  std::unique_ptr<FrameRingWriter> writer_;
};

class JoinTest : public testing::Test, private FrameTaker {
 protected:
  explicit JoinTest(DropPolicy policy = DropPolicy::block, std::uint64_t source_frames = 0,
                    const std::vector<EdgeId>& elsewhere = {})
      : join_("cam", edges, {filters, source_frames, elsewhere}, {policy, 8}, page_, place_) {}
  // Not before, and not after: a thread that calls it needs the whole object.
  void SetUp() override {
    thread_ = std::thread([this] { join_.run(*this); });
  }
  void TearDown() override {
    join_.abandon();
    if (thread_.joinable()) thread_.join();
  }

  void finish() {
    join_.finish();
    thread_.join();
  }
  // 'j': joined, 'm': given up; in the order of their numbers.
  std::string outcome() {
    const std::lock_guard lock(mutex_);
    std::string all;
    for (std::uint64_t n = 1; n <= resolved_; ++n) all += joined_.contains(n) ? 'j' : 'm';
    return all;
  }
  bool has_joined(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return joined_.contains(number);
  }
  bool becomes(const std::string& wanted) {
    return eventually([&] { return outcome() == wanted; });
  }

  RigPage page_ = RigPage::create(4);
  NodePlace place_{};
  JoinInput join_;

 private:
  void get_ready(const FrameFormat& expected, const NodeOutput::Source& from) override {
    EXPECT_EQ(expected, source);
    EXPECT_EQ(from.filtered, 1U) << "motion runs behind the join";
  }
  void take(RingInUse* ring, FrameRingReader::Lease lease, const NodeOutput::Source& from) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(ring, nullptr) << "the frame is the node's own";
    EXPECT_GT(lease.source_number, resolved_);
    EXPECT_EQ(lease.frame.view.format, source);
    EXPECT_EQ(from.frame_rate, 25);
    const auto grey = static_cast<std::uint8_t>(40 + lease.source_number);
    for (int plane = 0; plane < 3; ++plane) {
      const auto at = static_cast<std::size_t>(plane);
      const PlaneSize size = plane_size(source, plane);
      for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x)
          ASSERT_EQ(lease.frame.view.data[at][y * lease.frame.view.stride[at] + x], grey) << x << ", " << y;
      }
    }
    joined_.insert(lease.source_number);
    resolved_ = lease.source_number;
  }
  void give_up(std::uint64_t number, DropCause cause) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(cause, DropCause::part_missing);
    resolved_ = std::max(resolved_, number);
  }
  void rest() override {}
  void beat() override {}

  std::mutex mutex_;
  std::set<std::uint64_t> joined_;
  std::uint64_t resolved_ = 0;
  std::thread thread_;
};

TEST_F(JoinTest, PutsPartsTogetherByTheirSourceNumber) {
  Tile upper(0), lower(1);
  upper.offer(join_);
  lower.offer(join_);
  for (std::uint64_t n = 1; n <= 4; ++n) upper.publish(n);
  for (std::uint64_t n = 1; n <= 4; ++n) lower.publish(n);
  EXPECT_TRUE(becomes("jjjj")) << outcome();
  upper.close();
  lower.close();
  finish();
  EXPECT_TRUE(upper.drained() && lower.drained());
}

// It waits for half a minute for a part, and for none that is known not to come.
TEST_F(JoinTest, AFrameThatATileDroppedIsGivenUpAtOnce) {
  Tile upper(0), lower(1);
  upper.offer(join_);
  lower.offer(join_);
  upper.publish(1);
  lower.drop(1);
  EXPECT_TRUE(becomes("m"));
  upper.drop(2);
  lower.publish(2);
  upper.publish(3);
  lower.publish(3);
  EXPECT_TRUE(becomes("mmj")) << outcome();
  upper.publish(5);
  lower.publish(4);
  lower.publish(5);
  EXPECT_TRUE(becomes("mmjmj")) << outcome() << ": a ring without 4 that has 5 will not have it";
}

TEST_F(JoinTest, ATileThatIsOverIsNotWaitedFor) {
  Tile upper(0), lower(1);
  upper.offer(join_);
  lower.offer(join_);
  lower.publish(1);
  lower.close();
  join_.finish(edges[1]);
  upper.publish(1);
  upper.publish(2);
  EXPECT_TRUE(becomes("jm")) << outcome();
}

// A successor's ring begins with another frame: those before it were lost.
TEST_F(JoinTest, GoesOnWithASuccessor) {
  Tile upper(0), lower(1);
  upper.offer(join_);
  lower.offer(join_);
  for (std::uint64_t n = 1; n <= 4; ++n) upper.publish(n);
  lower.publish(1);
  EXPECT_TRUE(becomes("j"));
  lower.close();
  Tile next(1);
  next.offer(join_);
  next.publish(4);
  EXPECT_TRUE(becomes("jmmj")) << outcome();
}

TEST_F(JoinTest, NeverMixesWhatIsMadeOfOtherSources) {
  Tile upper(0);
  Tile lower(1, {{.width = width, .height = height + 2}, 0});
  upper.offer(join_);
  lower.offer(join_);
  upper.publish(1);
  lower.publish(1);
  EXPECT_TRUE(becomes("m"));
  lower.close();
  Tile other_rows(1, {source, 0}, height / 2 - 2);
  other_rows.offer(join_);
  upper.publish(2);
  other_rows.publish(2);
  EXPECT_TRUE(becomes("mm")) << "nor bands that are not side by side";
}

// No numbers are missing for ever after what one tile claims, and it is found out.
TEST_F(JoinTest, ATileThatClaimsToBeFarAheadIsAccused) {
  Tile upper(0), lower(1);
  upper.offer(join_);
  lower.offer(join_);
  lower.claim_resolved(~std::uint64_t{0});
  const auto& accusation = page_.edge_reader(edges[1], page_.own()).accusation;
  EXPECT_TRUE(eventually([&] { return accusation.load() != 0; }));
  upper.publish(1);
  Tile next(1);
  next.offer(join_);
  next.publish(1);
  EXPECT_TRUE(becomes("j")) << outcome();
  EXPECT_EQ(page_.edge_reader(edges[0], page_.own()).accusation.load(), 0U);
}

// What a tile that died may have claimed is not held against its successor.
TEST_F(JoinTest, ASuccessorIsBelievedForItself) {
  Tile upper(0), lower(1);
  upper.offer(join_);
  lower.offer(join_);
  lower.claim_resolved(1000);
  upper.publish(1);
  EXPECT_TRUE(becomes("m"));
  lower.close();
  Tile next(1);
  next.offer(join_);
  upper.publish(2);
  next.publish(2);
  EXPECT_TRUE(becomes("mj")) << outcome();
}

// A join that begins when the source has run for weeks.
class LateJoin : public JoinTest {
 protected:
  static constexpr std::uint64_t so_far = std::uint64_t{1} << 26;
  LateJoin() : JoinTest(DropPolicy::block, so_far) {}
};

TEST_F(LateJoin, GoesOnWhereTheSourceIs) {
  Tile upper(0), lower(1);
  upper.offer(join_);
  lower.offer(join_);
  upper.publish(so_far + 3);
  lower.publish(so_far + 3);
  EXPECT_TRUE(eventually([this] { return has_joined(so_far + 3); }));
  for (const EdgeId edge : edges) EXPECT_EQ(page_.edge_reader(edge, page_.own()).accusation.load(), 0U);
}

class DroppingJoin : public JoinTest {
 protected:
  DroppingJoin() : JoinTest(DropPolicy::drop) {}
};

TEST_F(DroppingJoin, WaitsForASilentTileOnceAndThenNotAtAll) {
  Tile upper(0), lower(1);
  upper.offer(join_);
  lower.offer(join_);
  upper.publish(1);
  EXPECT_TRUE(becomes("m")) << "late";
  for (std::uint64_t n = 2; n <= 4; ++n) upper.publish(n);
  EXPECT_TRUE(becomes("mmmm")) << outcome();
  lower.publish(1);
  lower.publish(5);
  upper.publish(5);
  EXPECT_TRUE(becomes("mmmmj")) << "with its next part it is back";
  EXPECT_TRUE(lower.drained()) << "the part that came too late was given back";
}

// The second tile is made on another node of the cluster.
class JoinElsewhere : public JoinTest {
 protected:
  JoinElsewhere() : JoinTest(DropPolicy::block, 0, {edges[1]}) {}
};

TEST_F(JoinElsewhere, WaitsForANodeThatIsAwayNoLongerThanFramesWaitForIt) {
  Tile upper(0), lower(1);
  upper.offer(join_);
  upper.publish(1);
  const Stopwatch watch;
  EXPECT_TRUE(eventually([this] { return outcome() == "m"; }));
  EXPECT_LT(watch.elapsed(), seconds(20)) << "another tile's would wait for 30 s";
  upper.publish(2);
  EXPECT_TRUE(becomes("mm"));
  lower.offer(join_);
  upper.publish(3);
  lower.publish(3);
  EXPECT_TRUE(becomes("mmj"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
