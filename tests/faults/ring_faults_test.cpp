// Rings that wait, are damaged or hold what brings down their readers go with their camera, and with no other.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>

#include "ipc/frame_ring_layout.h"
#include "ipc/shared_memory.h"
#include "tests/faults/supervision_rig.h"
#include "tests/integration/test_camera.h"
#include "tests/unit/stop_process.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;
using testing::Not;

// The failpoint says so each time that the worker tries, which is once a second.
TEST(Ring, ThatWaitsForGpuMemoryGoesWithItsCamera) {
  std::string failpoints;
  for (int i = 2; i < 40; ++i) failpoints += "worker.opening_ring:" + std::to_string(i) + "=gpu_full,";
  const std::string quiet = "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n";
  RigRun rig(quiet + camera("a"), {.failpoints = failpoints});
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  std::ofstream(rig.file("rig.yaml")) << quiet + camera("a") + camera("b", ", drop_policy: drop");
  rig.signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return rig.log().find("cannot be used yet") != std::string::npos; })) << rig.log();
  const pid_t worker = rig.pid_of("worker 0");
  std::ofstream(rig.file("rig.yaml")) << quiet + camera("a");
  rig.signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return rig.log().find("b: removed; ") != std::string::npos; })) << rig.log();
  // Long enough for a further try.
  for (int growth = 0; growth < 3; ++growth) ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  EXPECT_EQ(rig.pid_of("worker 0"), worker) << rig.log();
  expect_goes_on(rig, "a");
}

// Of all frame rings that the supervisor knows.
void for_each_ring(const RigRun& rig, const std::function<void(ring::Header& header)>& look) {
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(rig.supervisor()) + "/fd", error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.find("campipe frame ring (") == std::string::npos) continue;
    const UniqueFd fd(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
    if (!fd) continue;
    const Mapping memory(fd.get(), Mapping::Access::read_write);
    look(*reinterpret_cast<ring::Header*>(memory.bytes().data()));
  }
}

// The most places for readers that are not empty.
std::size_t most_places_taken(const RigRun& rig) {
  std::size_t most = 0;
  for_each_ring(rig, [&](const ring::Header& header) {
    const auto taken =
        std::ranges::count_if(header.readers, [](const auto& r) { return r.state.load() != ReaderState::empty; });
    most = std::max(most, static_cast<std::size_t>(taken));
  });
  return most;
}

// As if so many workers had died that no place is left. A writer that lives frees them again with its next frame.
void take_all_places(const RigRun& rig) {
  for_each_ring(rig, [](ring::Header& header) {
    for (auto& reader : header.readers) {
      ReaderState empty = ReaderState::empty;
      reader.state.compare_exchange_strong(empty, ReaderState::gone);
    }
  });
}

// Nobody would ever free a place in it again: each worker that dies would take one, and there are sixteen.
TEST(Ring, OfADeadMasterIsOfferedToNobody) {
  if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
  TestCamera away;
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n" +
             camera("a", ", drop_policy: drop") + "  b: {source: \"" + away.url() +
             "\", encode: {codec: h264}, record: {path: b.mp4}}\n");
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  ASSERT_TRUE(rig.wait_for_growth("b.mp4", 2000)) << rig.log();
  away.kill();
  const pid_t master = rig.pid_of("master");
  ::kill(master, SIGKILL);
  rig.successor_of("master", master);
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  for (int time = 0; time < 3; ++time) {
    const pid_t worker = rig.pid_of("worker 0");
    ::kill(worker, SIGKILL);
    rig.successor_of("worker 0", worker);
    ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  }
  EXPECT_EQ(most_places_taken(rig), 1U) << "that of the worker which died first";
  take_all_places(rig);
  const pid_t worker = rig.pid_of("worker 0");
  ::kill(worker, SIGKILL);
  rig.successor_of("worker 0", worker);
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  EXPECT_THAT(rig.log(), Not(HasSubstr("cannot "))) << "a step of the supervisor failed";
  EXPECT_THAT(rig.log(), Not(HasSubstr("no reader has a place"))) << "nobody would have made a place there";
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
}

// Whoever reads a ring can write its writer's word, too. The supervisor forgets the pixels of a ring that was closed.
TEST(Ring, ThatWasSaidToBeClosedIsReplaced) {
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n" +
             camera("a", ", drop_policy: drop"));
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  const pid_t worker = rig.pid_of("worker 0");
  stop_process(worker);  // it would take the ring for finished
  const auto pixels = [&] {
    int found = 0;
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(rig.supervisor()) + "/fd", error)) {
      const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
      found += target.find("campipe frame ring pixels") == std::string::npos ? 0 : 1;
    }
    return found;
  };
  ASSERT_EQ(pixels(), 1);
  // Again and again: the writer puts it right.
  ASSERT_TRUE(eventually([&] {
    for_each_ring(rig, [](ring::Header& header) { header.writer = WriterState::closed; });
    return pixels() == 0;
  }));
  for_each_ring(rig, [](ring::Header& header) { header.writer = WriterState::open; });
  ::kill(worker, SIGKILL);
  const pid_t successor = rig.successor_of("worker 0", worker);
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  EXPECT_EQ(rig.pid_of("worker 0"), successor) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("was said to be closed"));
  expect_goes_on(rig, "a");
}

bool has_thread(pid_t process, const std::string& name) {
  std::error_code error;
  const std::filesystem::directory_iterator threads("/proc/" + std::to_string(process) + "/task", error);
  return std::ranges::any_of(begin(threads), end(threads),
                             [&](const auto& thread) { return read_text(thread.path() / "comm") == name + "\n"; });
}

// Its writer puts that right, which may be after the moment at which the successor was to have it.
TEST(Ring, ThatWasSaidToBeClosedWhenItsReaderCameIsOfferedLater) {
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n" +
             camera("a", ", drop_policy: drop"));
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  const pid_t worker = rig.pid_of("worker 0");
  const pid_t master = rig.pid_of("master");
  stop_process(master);  // it puts nothing right yet
  for_each_ring(rig, [](ring::Header& header) { header.writer = WriterState::closed; });
  ::kill(worker, SIGKILL);
  const pid_t successor = rig.successor_of("worker 0", worker);
  // It has its node, and nothing to read.
  ASSERT_TRUE(eventually([&] { return has_thread(successor, "st:a"); })) << rig.log();
  for_each_ring(rig, [](ring::Header& header) { header.writer = WriterState::open; });
  ::kill(master, SIGCONT);
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  expect_goes_on(rig, "a");
}

// More packets than its ring holds: its camera waits for nobody who would take them.
TEST(Poison, OfAnOutputLeavesItsCameraAlone) {
  const int port = free_port();
  constexpr int frames = 5000;
  RigRun rig(server(port) + "cameras:\n  a:\n    source: \"test://pattern?width=160&height=120&rate=500&frames=" +
                 std::to_string(frames) +
                 "\"\n    drop_policy: block\n    record: {path: a.mp4}\n    outputs:\n"
                 "      small: {encode: {codec: mjpeg}, record: {path: small.mp4}}\n",
             {.failpoints = "publisher.live@a/small=segv"});
  EXPECT_EQ(rig.wait(), 3) << rig.log();
  const auto camera = rig.camera("a");
  EXPECT_EQ(camera.at("state"), "ended") << rig.log();
  EXPECT_EQ(camera.at("frames").at("recorded"), frames);
  EXPECT_EQ(camera.at("outputs").at("small").at("state"), "failed");
  EXPECT_EQ(rig.report().at("publisher_restarts"), 4) << rig.log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
