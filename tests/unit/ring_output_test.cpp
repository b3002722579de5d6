// How a node waits for the next one where the policy is `drop`: frames that are too many are to be dropped where
// nothing has been done to them yet, in the source's ring; but nobody waits for a process that is stopped, or for a
// mosaic.
#include "app/worker/ring_output.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "app/control/messages/run_node.h"
#include "app/worker/output_events.h"
#include "ipc/drop_causes.h"
#include "ipc/edge_blocks.h"
#include "ipc/rig_page.h"
#include "tests/unit/cpu_waits.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr unsigned queue_size = 2;
constexpr auto longest_wait = seconds(1);
const FrameFormat format{.width = 32, .height = 32};

class DroppingRingOutput : public testing::Test {
 protected:
  DroppingRingOutput() {
    events_.beat = [] {};
    events_.abandoned = [this] { return abandoned_.load(); };
    events_.on_ring = [this](EdgeId, const FrameRingMemory& ring, std::uint64_t, double) {
      memory_ = reopen(ring, FrameRingMemory::Role::reader);
    };
    events_.on_edge_failed = [](EdgeId, const std::string& reason) { ADD_FAILURE() << reason; };
  }

  void begin(bool cell = false) {
    messages::WrittenEdge edge;
    edge.edge = EdgeId(0);
    edge.name = "cam";
    edge.filters = {{"sharpen", {}}};
    edge.drop_policy = DropPolicy::drop;
    edge.cell = cell;
    output_ = std::make_unique<RingOutput>(edge, ReaderQueue{DropPolicy::drop, queue_size}, page_, events_, place_);
    output_->get_ready(format, {25});
    ASSERT_TRUE(memory_);
    reserve_seat(memory_, 0);
    reader_ = std::make_unique<FrameRingReader>(memory_, 0);
    reader_->attach(false, queue_size);
  }

  // Returns how long that took.
  Clock::duration process() {
    FrameRingReader::Lease lease;
    lease.source_number = ++number_;
    auto pixels = std::make_shared<std::vector<std::uint8_t>>(32 * 32 * 2);
    lease.frame.view.format = format;
    lease.frame.view.data = {pixels->data(), pixels->data() + 1024, pixels->data() + 1536};
    lease.frame.view.stride = {32, 16, 16};
    lease.frame.owner = pixels;
    const auto begin = Clock::now();
    output_->process(nullptr, std::move(lease), {25});
    return Clock::now() - begin;
  }
  [[nodiscard]] unsigned recalled() const { return FrameRingObserver(memory_).frames_of(0).recalled; }
  std::uint64_t take() {
    FrameRingReader::Lease lease;
    return reader_->next(lease, after(seconds(10))) == FrameRingReader::Next::frame ? lease.source_number : 0;
  }

  RigPage page_ = RigPage::create(2);
  NodePlace place_{};
  OutputEvents events_;
  std::atomic<bool> abandoned_{false};
  std::shared_ptr<FrameRingMemory> memory_;
  std::unique_ptr<RingOutput> output_;
  std::unique_ptr<FrameRingReader> reader_;
  std::uint64_t number_ = 0;
};

TEST_F(DroppingRingOutput, WaitsForASlowReader) {
  begin();
  for (unsigned i = 0; i < queue_size; ++i) process();
  std::jthread slow([this] {
    // It is waited for by now: only then it takes a frame.
    EXPECT_TRUE(eventually([this] { return memory_->header().writer_sleep == ring::WriterSleep::for_room; }));
    EXPECT_EQ(take(), 1U);
  });
  process();
  slow.join();
  EXPECT_EQ(recalled(), 0U);
  for (std::uint64_t n = 2; n <= 3; ++n) EXPECT_EQ(take(), n);
}

TEST_F(DroppingRingOutput, WaitsOnceForOneThatTakesNothing) {
  begin();
  for (unsigned i = 0; i < queue_size; ++i) process();
  EXPECT_GE(process(), longest_wait);
  EXPECT_EQ(recalled(), 1U) << "then its oldest frame goes";
  const Stopwatch watch;
  for (int i = 0; i < 20; ++i) process();
  EXPECT_LT(watch.elapsed(), 10 * longest_wait) << "and not for every frame";
  EXPECT_EQ(recalled(), 21U);
  EXPECT_EQ(take(), 22U);
  process();
  EXPECT_EQ(recalled(), 21U);
  EXPECT_GE(process(), longest_wait) << "it has taken one";
}

TEST_F(DroppingRingOutput, DoesNotWaitWhenItsProcessLeaves) {
  begin();
  for (unsigned i = 0; i < queue_size; ++i) process();
  abandoned_ = true;
  process();
  EXPECT_EQ(recalled(), 0U);
  EXPECT_EQ(counter(page_.edge_writer(EdgeId(0), page_.own()).unpublished, DropCause::worker_lost).load(), 1U);
}

TEST_F(DroppingRingOutput, NeverWaitsForAMosaic) {
  begin(true);
  const Stopwatch watch;
  for (int i = 0; i < 20; ++i) process();
  EXPECT_LT(watch.elapsed(), 10 * longest_wait);
  EXPECT_EQ(recalled(), 20 - queue_size);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
