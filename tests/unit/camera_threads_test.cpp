// Each thread that works for a camera has a heartbeat of its own: while one hangs and the others beat, that one is
// found. Real threads' scopes beat in a real page, as the supervisor's own list of threads has them.
#include "app/supervisor/faults/camera_threads.h"

#include <gtest/gtest.h>

#include <memory>

#include "app/control/thread_scope.h"
#include "app/supervisor/rig/cameras.h"
#include "ipc/decode_blocks.h"
#include "ipc/node_block.h"
#include "ipc/publish_block.h"
#include "ipc/rig_page.h"
#include "ipc/source_blocks.h"
#include "tests/unit/camera_test_support.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr HangLimits short_limits{milliseconds(50), milliseconds(50), milliseconds(50)};

// A camera with two nodes in one worker, and two outputs.
class CameraThreads : public testing::Test {
 protected:
  CameraThreads() {
    camera_.id = CameraId(1);
    add_node(camera_, NodeId(2), EdgeId(1)).watch = ThreadWatch(short_limits);
    add_node(camera_, NodeId(0), EdgeId(0)).watch = ThreadWatch(short_limits);
    for (const unsigned output : {3U, 1U}) {
      Output& added = camera_.outputs.emplace_back();
      added.id = OutputId(output);
      added.camera = camera_.id;
      added.own = camera_.outputs.size() == 1;
    }
  }
  std::vector<CameraThread> threads(ProcessKind kind, ProcessId id) {
    ManagedProcess process;
    process.kind = kind;
    process.id = id;
    return threads_of(process, camera_, page_);
  }

  const RigPage page_ = RigPage::create(4);
  Camera camera_;
};

TEST_F(CameraThreads, OneNodeHangsAndAnotherBeats) {
  std::vector<CameraThread> nodes = threads(ProcessKind::worker, worker_process(0));
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(&nodes[0].block, &page_.node(NodeId(2), worker_process(0)).thread);
  EXPECT_EQ(&nodes[1].block, &page_.node(NodeId(0), worker_process(0)).thread);
  std::jthread hangs([&](const std::stop_token& stop) {
    ThreadScope scope(nodes[0].block, "hangs");
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait(lock, stop, [] { return false; });
  });
  ThreadScope beats(nodes[1].block, "beats");
  ASSERT_TRUE(eventually([&] { return nodes[0].block.beat.load() != 0; }));
  EXPECT_TRUE(eventually([&] {
    const std::int64_t now = now_ns();
    beats.beat();  // never silent at `now`, however busy the machine is
    EXPECT_FALSE(nodes[1].hung(0, now));
    return nodes[0].hung(0, now).has_value();
  }));
  EXPECT_FALSE(nodes[1].hung(0, nodes[1].block.beat));
}

TEST_F(CameraThreads, OfEachProcessHaveBlocksOfTheirOwn) {
  const auto source = threads(ProcessKind::source, source_process);
  ASSERT_EQ(source.size(), 1U);
  EXPECT_EQ(&source[0].block, &page_.source(CameraId(1)).thread);
  const auto decoding = threads(ProcessKind::master, master_process);
  ASSERT_EQ(decoding.size(), 1U);
  EXPECT_EQ(&decoding[0].block, &page_.decode(CameraId(1), master_process).thread);
  EXPECT_EQ(&source[0].output, &camera_.own());
  const auto outputs = threads(ProcessKind::publisher, publisher_process);
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(&outputs[0].block, &page_.publish(OutputId(3)).thread);
  EXPECT_EQ(&outputs[1].block, &page_.publish(OutputId(1)).thread);
  EXPECT_EQ(&outputs[1].output, &camera_.outputs[1]);
}

TEST_F(CameraThreads, AreThoseWithWork) {
  camera_.source.over = camera_.decoding.over = camera_.own().publisher.done = true;
  for (CameraNode& node : camera_.nodes) node.done = true;
  EXPECT_TRUE(threads(ProcessKind::source, source_process).empty());
  EXPECT_TRUE(threads(ProcessKind::master, master_process).empty());
  EXPECT_TRUE(threads(ProcessKind::worker, worker_process(0)).empty());
  EXPECT_EQ(threads(ProcessKind::publisher, publisher_process).size(), 1U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
