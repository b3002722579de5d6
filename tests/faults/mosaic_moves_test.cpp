// Moves of mosaics, and of cameras that one shows, by the real program: no frame is lost or comes twice, cells go on
// with at most repeated frames, and the mosaic's clock misses no tick; also where its worker is killed in the move. In
// tests/sim workers are killed at each step of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <thread>

#include "tests/faults/armed_deaths.h"
#include "tests/faults/fault_rig.h"
#include "tests/integration/clips.h"
#include "tests/integration/mosaic_video.h"
#include "tests/integration/move_rig.h"
#include "tests/integration/rig_waits.h"
#include "tests/integration/times_in.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr double rate = 10;
constexpr double promised_recovery = 2.0 * sanitizer_slowdown;  // s
const std::vector<FrameRegion> quarters{{0, 0, 160, 120}, {160, 0, 160, 120}, {0, 120, 160, 120}, {160, 120, 160, 120}};

// a is on worker 0, b and the mosaic are on worker 1, c is on worker 2.
class Wall {
 public:
  static constexpr unsigned target = 2;

  explicit Wall(const RigOptions& options = {}, const std::string& of_a = pattern())
      : rig_("http_address: \"127.0.0.1:" + std::to_string(port_) +
                 "\"\nrtsp_address: off\nworkers: {count: 3}\nbalance: off\n"
                 "defaults: {queue_size: 32, gpu: cpu, drop_policy: drop, encode: {codec: h264, gop: 500ms, bitrate: "
                 "500k, options: {sc_threshold: 0}}}\ncameras:\n  a: {" +
                 of_a + ", record: {path: a.mp4}}\n" + camera("b") + camera("c") + camera("d") +
                 "mosaics:\n  main: {layout: [[a, 0, 0, 160, 120], [b, 160, 0, 160, 120], [c, 0, 120, 160, 120]], "
                 "width: "
                 "320, height: 240, rate: 10, gpu: cpu, record: {path: main.mp4}, encode: {gop: 500ms, bitrate: 1M}}\n",
             options) {}

  static std::string pattern() { return "source: \"test://pattern?width=160&height=120&rate=10\""; }

  [[nodiscard]] RigRun& rig() { return rig_; }
  // s, for a CPU.
  [[nodiscard]] double waits() { return waits_.seconds(); }
  [[nodiscard]] std::string log() const { return rig_.log(); }
  [[nodiscard]] Answer move(const std::string& camera, unsigned worker) const {
    return move_in(rig_, port_, camera, worker);
  }
  [[nodiscard]] nlohmann::json status_of(const std::string& camera) const {
    return nlohmann::json::parse(test::ask(static_cast<std::uint16_t>(port_), "GET /api/v1/cameras/" + camera).body);
  }
  [[nodiscard]] Reply ask_http(const std::string& line) const {
    const std::string token = read_text(rig_.file("state/token-" + std::to_string(port_)));
    return test::ask(static_cast<std::uint16_t>(port_), line, "Authorization: Bearer " + token + "\r\n");
  }
  // The worker of the camera's only node.
  [[nodiscard]] std::string place_of(const std::string& camera) const {
    return status_of(camera).at("graph").at("nodes").back().at("process");
  }
  // As the status shows, once a second.
  [[nodiscard]] bool comes_to(const std::string& camera, unsigned worker) const {
    return eventually([&] { return place_of(camera) == "worker " + std::to_string(worker); });
  }
  void wait_for_flow(int fragments = 2) {
    for (; fragments > 0; --fragments) {
      for (const std::string name : {"a", "b", "c", "main"})
        ASSERT_TRUE(rig_.wait_for_growth(name + ".mp4", rig_.size(name + ".mp4"))) << name << '\n' << log();
    }
  }
  void end() {
    rig_.signal(SIGINT);
    ASSERT_EQ(rig_.wait(), 0) << log();
    EXPECT_EQ(check_accounting(rig_.report()), "");
    EXPECT_TRUE(rig_.processes().empty());
  }
  // None of its frames is missing but those that its worker, without a CPU, was late for.
  void expect_whole(const std::string& name) {
    SCOPED_TRACE(name);
    EXPECT_EQ(check_pattern_recording(read_video(rig_.file(name + ".mp4")), !was_late(rig_.camera(name))), "") << log();
    expect_late_only(name);
    expect_one_file(name);
  }
  void expect_late_only(const std::string& name) {
    EXPECT_EQ(check_late_only(rig_.camera(name), rate, waits_), "") << log();
  }
  void expect_one_file(const std::string& name) {
    EXPECT_FALSE(std::filesystem::exists(rig_.file(name + "-1.mp4"))) << "the recording was broken in two";
  }
  std::vector<MosaicFrame> read() {
    expect_one_file("main");
    auto frames = read_mosaic(rig_.file("main.mp4"), quarters);
    const auto mosaic = rig_.camera("main");
    EXPECT_EQ(mosaic.at("frames").at("recorded"), frames.size()) << mosaic;
    EXPECT_EQ(check_mosaic(frames, rate, mosaic.at("frames").at("dropped").empty()), "") << mosaic << log();
    return frames;
  }

 private:
  static std::string camera(const std::string& name) {
    return "  " + name + ": {" + pattern() + ", record: {path: " + name + ".mp4}}\n";
  }

  int port_ = free_port();
  RigRun rig_;
  RigWaits waits_{rig_};
};

// Its node has no encoder: it makes frames for the mosaic alone.
TEST(ShownCopy, Moves) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "clip.mp4", .width = 160, .height = 120, .frames = 900, .gop = 5, .rate = 10});
  Wall wall({}, "source: \"" + (clips.path() / "clip.mp4").string() + "\", loop: true, encode: {codec: copy}");
  wall.wait_for_flow();
  const std::string before = wall.place_of("a");
  const unsigned worker = before == "worker 2" ? 0 : 2;
  ASSERT_TRUE(eventually([&] { return !wall.status_of("main").at("cells").at(0).at("away").get<bool>(); }));
  const Answer answer = wall.move("a", worker);
  ASSERT_EQ(answer.status, 0) << answer.errors << wall.log();
  EXPECT_TRUE(wall.comes_to("a", worker)) << wall.log();
  EXPECT_TRUE(eventually([&] { return wall.status_of("a").at("worker") == worker; })) << wall.status_of("a");
  EXPECT_EQ(wall.status_of("a").at("gpu"), "cpu");
  wall.wait_for_flow(3);
  wall.end();
  EXPECT_EQ(wall.log().find("cannot report"), std::string::npos) << wall.log();
  wall.expect_late_only("a");
  const auto frames = wall.read();
  for (const std::size_t cell : {0U, 1U, 2U}) {
    EXPECT_TRUE(frames.back().cells[cell].code) << cell;
    EXPECT_LE(longest_standstill(frames, cell), 1.0 * sanitizer_slowdown + wall.waits()) << cell;
  }
}

// What the mosaic shows is another one meanwhile: with the camera's work its cells go over as they are then.
TEST(ShownCameras, MayGetAndLoseMosaicsAfterwards) {
  Wall wall;
  wall.wait_for_flow();
  ASSERT_EQ(wall.move("a", Wall::target).status, 0) << wall.log();
  const std::string config = read_text(wall.rig().file("rig.yaml"));
  const auto reload = [&](const std::string& text, const std::string& logged) {
    std::ofstream(wall.rig().file("rig.yaml")) << text;
    wall.rig().signal(SIGHUP);
    ASSERT_TRUE(eventually([&] { return wall.log().find(logged) != std::string::npos; })) << wall.log();
  };
  reload(config + "  more: {cameras: [a], width: 160, height: 120, rate: 10, gpu: cpu, record: {path: more.mp4}}\n",
         "more: added");
  for (int fragments = 0; fragments < 2; ++fragments)
    ASSERT_TRUE(wall.rig().wait_for_growth("more.mp4", wall.rig().size("more.mp4"))) << wall.log();
  ASSERT_EQ(wall.move("a", 0).status, 0) << wall.log();
  reload(config, "more: removed");
  wall.wait_for_flow();
  wall.end();
  for (const char* name : {"a", "b", "c"}) wall.expect_whole(name);
  EXPECT_EQ(wall.read().back().cells[0].code.has_value(), true);
}

// A camera goes to the worker of the mosaic, and the mosaic, with all cells, to that of another one of its cameras.
TEST(MosaicMoves, GoOnInOneFileByOneClockAsTheirCamerasDo) {
  Wall wall;
  wall.wait_for_flow();
  ASSERT_EQ(wall.move("a", 1).status, 0) << wall.log();
  EXPECT_TRUE(wall.comes_to("a", 1)) << wall.log();
  const Answer answer = wall.move("main", Wall::target);
  ASSERT_EQ(answer.status, 0) << answer.errors << wall.log();
  EXPECT_TRUE(wall.comes_to("main", Wall::target)) << wall.log();
  wall.wait_for_flow();
  wall.end();
  for (const char* name : {"a", "b", "c"}) wall.expect_whole(name);
  const auto frames = wall.read();
  const auto mosaic = wall.rig().camera("main");
  EXPECT_TRUE(mosaic.at("frames").at("dropped").empty()) << mosaic << wall.log();
  EXPECT_EQ(mosaic.at("frames").at("decoded"), frames.size()) << "ticks of its clock; " << mosaic;
  for (const std::size_t cell : {0U, 1U, 2U}) {
    EXPECT_TRUE(frames.back().cells[cell].code) << cell;
    EXPECT_LE(longest_standstill(frames, cell), 1.0 * sanitizer_slowdown + wall.waits()) << cell;
  }
  const auto first_without = std::ranges::find_if(frames, [](const MosaicFrame& frame) {
    return !std::ranges::all_of(std::span(frame.cells).first(3), [](const ShownCell& c) { return c.code.has_value(); });
  });
  EXPECT_TRUE(first_without == frames.end()) << "a card was shown at " << first_without - frames.begin();
}

TEST(MosaicMoves, GoOnWithoutACameraThatIsDisabledMeanwhile) {
  Wall wall;
  wall.wait_for_flow();
  std::jthread mover([&] { EXPECT_EQ(wall.move("main", Wall::target).status, 0) << wall.log(); });
  ASSERT_TRUE(eventually([&] { return wall.log().find("is to go over") != std::string::npos; }));
  ASSERT_EQ(wall.ask_http("POST /api/v1/cameras/c/disable").status, 200);
  mover.join();
  const auto cell = [&] { return wall.status_of("main").at("cells").at(2).at("away").get<bool>(); };
  ASSERT_TRUE(eventually(cell)) << wall.log();
  ASSERT_EQ(wall.ask_http("POST /api/v1/cameras/c/enable").status, 200);
  ASSERT_TRUE(eventually([&] { return !cell(); })) << wall.log();
  for (int fragments = 0; fragments < 3; ++fragments)
    ASSERT_TRUE(wall.rig().wait_for_growth("main.mp4", wall.rig().size("main.mp4"))) << wall.log();
  wall.end();
  wall.expect_late_only("main");
  auto frames = read_mosaic(wall.rig().file("main.mp4"), quarters);
  EXPECT_TRUE(frames.back().cells[2].code) << wall.log();
  for (MosaicFrame& frame : frames) frame.cells[2].code.reset();  // the camera begins anew
  EXPECT_EQ(check_mosaic(frames, rate, !was_late(wall.rig().camera("main"))), "") << wall.log();
}

// Worker 1 has b, too.
TEST(MosaicMoves, GoOnInTimeWhereTheOldWorkerIsKilled) {
  const std::string death = "hand_over.committing=kill";
  ArmedDeaths armed;
  armed.add(death);
  Wall wall({.failpoints = armed.failpoints()});
  wall.wait_for_flow();
  armed.arm(death);
  const Answer answer = wall.move("main", Wall::target);
  EXPECT_EQ(answer.status, 0) << answer.errors << wall.log();
  EXPECT_TRUE(armed.disarm(death)) << wall.log();
  wall.wait_for_flow();
  EXPECT_TRUE(wall.comes_to("main", Wall::target)) << wall.log();
  wall.end();
  wall.expect_whole("a");
  const auto frames = wall.read();
  const auto mosaic = wall.rig().camera("main");
  const std::uint64_t ticks = mosaic.at("frames").at("decoded");
  const auto late = static_cast<double>(dropped(mosaic, "queue_full"));
  EXPECT_NEAR(static_cast<double>(frames.back().pts - frames.front().pts) * rate / 1e9 + 1, static_cast<double>(ticks),
              2 + late)
      << "its clock went on; " << mosaic;
  EXPECT_LE(static_cast<double>(dropped(mosaic, "worker_lost")), (promised_recovery + wall.waits()) * rate + 1)
      << mosaic << wall.log();
  for (const std::size_t cell : {0U, 1U, 2U}) EXPECT_TRUE(frames.back().cells[cell].code) << cell << wall.log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
