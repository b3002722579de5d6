// A part of a camera, a tile or what joins tiles, that goes over to another worker, with a worker killed meanwhile: no
// frame comes twice, the rig goes on, and every frame is accounted for. In tests/sim workers are killed at each step of
// moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/faults/armed_deaths.h"
#include "tests/faults/fault_rig.h"
#include "tests/integration/move_rig.h"
#include "tests/integration/rig_waits.h"
#include "tests/integration/times_in.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr double promised_recovery = 2.0 * sanitizer_slowdown;  // s, and what a hang takes to be found

// Of camera a: in worker `from`, and not in the target.
struct Part {
  std::string placement;
  unsigned from = 0;
};

const Part tile{"{tiles: [\"cpu:0\", \"cpu:1\"], encode: \"cpu:1\"}", 0};
const Part join{"{tiles: [\"cpu:1\", \"cpu:1\"], encode: \"cpu:0\"}", 0};

std::string keys_of(const Part& part, const std::string& more = "") {
  return "    filters: [{sharpen: {amount: 0.2}}, {color: {contrast: 1.05}}" + more +
         "]\n    placement: " + part.placement + "\n";
}

// One after the other in the same rig: the new node's worker, and the old one's.
TEST(TileKilled, NothingComesTwiceAndAllGoesOn) {
  const std::vector<std::string> deaths{"hand_over.live=kill", "hand_over.committing=kill"};
  ArmedDeaths armed;
  for (const std::string& death : deaths) armed.add(death);
  MoveRig moves(keys_of(tile), "drop", {.failpoints = armed.failpoints()});
  moves.wait_for_flow();
  RigWaits waits(moves.rig());
  const std::int64_t when = utc_now_ns();
  unsigned from = tile.from;
  unsigned to = MoveRig::target;
  for (const std::string& death : deaths) {
    SCOPED_TRACE(death);
    armed.arm(death);
    const Answer answer = moves.move_part("a", from, to);
    EXPECT_EQ(answer.status, 0) << answer.output << answer.errors << moves.log();
    for (int fragments = 0; fragments < 2; ++fragments) moves.wait_for_flow();
    const auto is_in = [&](unsigned worker) {
      const auto nodes = moves.status_of("a").at("graph").at("nodes");
      return std::ranges::any_of(
          nodes, [&](const auto& node) { return node.at("process") == "worker " + std::to_string(worker); });
    };
    EXPECT_TRUE(eventually([&] { return is_in(to) && !is_in(from); })) << moves.status_of("a").dump(2) << moves.log();
    EXPECT_TRUE(armed.disarm(death)) << moves.log();
    std::swap(from, to);
  }
  moves.end();
  const VideoFile video = read_video(moves.rig().file("a.mp4"));
  EXPECT_EQ(check_pattern_recording(video, false), "") << moves.log();
  EXPECT_LE(largest_gap(video, when), promised_recovery + 2 + waits.seconds()) << moves.log();
  EXPECT_FALSE(std::filesystem::exists(moves.rig().file("a-1.mp4"))) << "the recording was broken in two";
  const auto camera = moves.rig().camera("a");
  EXPECT_EQ(video.pictures.size(), camera.at("frames").at("recorded").get<std::size_t>()) << camera;
}

// The new node's filters settle for a second and a half: meanwhile a worker dies that another part of the camera is in.
TEST(OtherPartKilled, ACamerasMoveEndsOneWayOrTheOther) {
  MoveRig moves(keys_of(join, ", motion"), "drop");
  moves.wait_for_flow();
  RigWaits waits(moves.rig());
  const std::int64_t when = utc_now_ns();
  std::jthread mover([&] { static_cast<void>(moves.move_part("a", join.from, MoveRig::target)); });
  ASSERT_TRUE(eventually([&] { return moves.log().find("is to go over") != std::string::npos; })) << moves.log();
  ::kill(moves.rig().pid_of("worker 1"), SIGKILL);
  ASSERT_TRUE(eventually([&] { return moves.log().find("worker 1 died") != std::string::npos; })) << moves.log();
  mover.join();
  for (int fragments = 0; fragments < 3; ++fragments) ASSERT_TRUE(moves.flows("a.mp4")) << moves.log();
  EXPECT_TRUE(eventually([&] { return !moves.status_of("a").contains("moves_to"); })) << moves.log();
  moves.end_with_losses();
  const VideoFile video = read_video(moves.rig().file("a.mp4"));
  EXPECT_EQ(check_pattern_recording(video, false), "") << moves.log();
  EXPECT_LE(largest_gap(video, when), promised_recovery + 2 + waits.seconds()) << moves.log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
