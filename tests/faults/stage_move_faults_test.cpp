// A part of a camera, a stage, a tile or what joins tiles, that goes over to another worker, with a worker killed or
// stopped at every step of it: no frame comes twice, the rig goes on, and every frame is accounted for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
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
  std::string title;
  std::string placement;
  unsigned from = 0;
};
void PrintTo(const Part& part, std::ostream* out) { *out << part.title; }

const Part first_stage{"FirstStage", "{filter: [\"cpu:0\"], encode: \"cpu:1\"}", 0};
const Part last_stage{"LastStage", "{filter: [\"cpu:1\"], encode: \"cpu:0\"}", 0};
const Part tile{"Tile", "{tiles: [\"cpu:0\", \"cpu:1\"], encode: \"cpu:1\"}", 0};
const Part join{"Join", "{tiles: [\"cpu:1\", \"cpu:1\"], encode: \"cpu:0\"}", 0};

std::string keys_of(const Part& part, const std::string& more = "") {
  return "    filters: [{sharpen: {amount: 0.2}}, {color: {contrast: 1.05}}" + more +
         "]\n    placement: " + part.placement + "\n";
}

// One after the other in the same rig, of a part.
struct Deaths {
  std::string title;
  Part part;
  std::string policy;
  std::vector<DeathInMove> steps;
  bool lossless = false;  // who is hit has no frame in hands
};
void PrintTo(const Deaths& deaths, std::ostream* out) { *out << deaths.title; }

class PartKilledAt : public testing::TestWithParam<Deaths> {};

void expect_whole_rig(MoveRig& moves, bool lossless, std::int64_t when, RigWaits& waits) {
  moves.end();
  const VideoFile video = read_video(moves.rig().file("a.mp4"));
  EXPECT_EQ(check_pattern_recording(video, lossless && !was_late(moves.rig().camera("a"))), "") << moves.log();
  EXPECT_LE(largest_gap(video, when), promised_recovery + 2 + waits.seconds()) << moves.log();
  EXPECT_FALSE(std::filesystem::exists(moves.rig().file("a-1.mp4"))) << "the recording was broken in two";
  const auto camera = moves.rig().camera("a");
  EXPECT_EQ(video.pictures.size(), camera.at("frames").at("recorded").get<std::size_t>()) << camera;
  EXPECT_EQ(lossless ? moves.check_losses("a") : "", "") << moves.log();
}

TEST_P(PartKilledAt, NothingComesTwiceAndAllGoesOn) {
  const auto& [title, part, policy, steps, lossless] = GetParam();
  ArmedDeaths armed;
  for (const DeathInMove& step : steps) armed.add(step.failpoint);
  MoveRig moves(keys_of(part), policy, {.failpoints = armed.failpoints()});
  moves.wait_for_flow();
  RigWaits waits(moves.rig());
  const std::int64_t when = utc_now_ns();
  unsigned from = part.from;
  unsigned to = MoveRig::target;
  for (const DeathInMove& step : steps) {
    SCOPED_TRACE(step.failpoint);
    const std::size_t before = times_in(moves.log(), " died (");
    const auto died = [&] { return times_in(moves.log(), " died (") > before; };
    armed.arm(step.failpoint);
    Answer answer = moves.move_part("a", from, to);
    // What depends on when frames come is reached by one of some moves.
    for (int more = 0; more < 5 && !step.moved && !died(); ++more) {
      ASSERT_EQ(answer.status, 0) << answer.errors << moves.log();
      std::swap(from, to);
      answer = moves.move_part("a", from, to);
    }
    const bool moved = answer.status == 0;
    EXPECT_EQ(moved, step.moved.value_or(moved)) << answer.output << answer.errors << moves.log();
    if (moved) std::swap(from, to);
    for (int fragments = 0; fragments < 2; ++fragments) moves.wait_for_flow();
    const auto is_in = [&](unsigned worker) {
      const auto nodes = moves.status_of("a").at("graph").at("nodes");
      return std::ranges::any_of(
          nodes, [&](const auto& node) { return node.at("process") == "worker " + std::to_string(worker); });
    };
    EXPECT_TRUE(eventually([&] { return is_in(from) && !is_in(to); })) << moves.status_of("a").dump(2) << moves.log();
    EXPECT_TRUE(died()) << moves.log();
    EXPECT_TRUE(armed.disarm(step.failpoint));
  }
  expect_whole_rig(moves, lossless, when, waits);
}

const std::vector<DeathInMove> with_drop{
    {"hand_over.passed:3=kill", {}}, {"hand_over.ready=kill", {}}, {"hand_over.live=kill", true}};
const std::vector<DeathInMove> with_block{{"hand_over.passing:3=kill", {}},
                                          {"hand_over.ready=stop", {}},
                                          {"hand_over.going_on=kill", true},
                                          {"hand_over.committing=kill", true}};

INSTANTIATE_TEST_SUITE_P(
    Of, PartKilledAt,
    testing::Values(Deaths{"FirstStage", first_stage, "drop", with_drop}, Deaths{"Join", join, "drop", with_drop},
                    Deaths{"LastStage", last_stage, "block", with_block}, Deaths{"Tile", tile, "block", with_block},
                    Deaths{"FirstStageThatHasLeft", first_stage, "drop", {{"hand_over.finished=kill", true}}, true},
                    Deaths{"JoinThatHasLeft", join, "drop", {{"hand_over.finished=kill", true}}, true},
                    Deaths{"LastStageThatHasLeft", last_stage, "block", {{"hand_over.committed=kill", true}}, true},
                    Deaths{"TileThatHasLeft", tile, "block", {{"hand_over.committed=kill", true}}, true}),
    [](const auto& one) { return one.param.title; });

// The new node's filters settle for a second and a half: meanwhile a worker dies that another part of the camera is in.
class OtherPartKilled : public testing::TestWithParam<Part> {};

TEST_P(OtherPartKilled, ACamerasMoveEndsOneWayOrTheOther) {
  MoveRig moves(keys_of(GetParam(), ", motion"), "drop");
  moves.wait_for_flow();
  RigWaits waits(moves.rig());
  const std::int64_t when = utc_now_ns();
  std::jthread mover([&] { static_cast<void>(moves.move_part("a", GetParam().from, MoveRig::target)); });
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

INSTANTIATE_TEST_SUITE_P(BesideThe, OtherPartKilled, testing::Values(first_stage, last_stage, tile, join),
                         [](const auto& one) { return one.param.title; });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
