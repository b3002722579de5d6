// One of several nodes of a camera, by stage or by tile, that goes over to another worker while the camera runs, by the
// real program: every frame comes once, in one file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/integration/move_rig.h"
#include "tests/unit/command_output.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;

struct Way {
  std::string title = {};
  std::string policy = "drop";
  std::string placement = {};
  // From and to, one after another.
  std::vector<std::pair<unsigned, unsigned>> moves = {};
  std::string filters = "[{sharpen: {amount: 0.2}}, {color: {contrast: 1.05}}]";
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.title; }

const std::string two_stages = "{filter: [cpu:0, cpu:0], encode: cpu:1}";
const std::string two_tiles = "{tiles: [cpu:0, cpu:1], encode: cpu:2}";

// Camera a is placed like that; b, and c, on worker 1 and 2, must never notice.
std::string keys_of(const Way& way) {
  return "    filters: " + way.filters + "\n    placement: " + way.placement + "\n";
}

// No frame may be dropped: a sanitizer needs a lower rate for that.
constexpr int rate = is_sanitized ? 5 : 25;
MoveRig rig_of(const std::string& keys, const std::string& policy = "drop") { return MoveRig(keys, policy, {}, rate); }

class StageMoves : public testing::TestWithParam<Way> {};

TEST_P(StageMoves, LoseNothing) {
  const Way& way = GetParam();
  MoveRig moves = rig_of(keys_of(way), way.policy);
  moves.wait_for_flow();
  unsigned done = 0;
  for (const auto& [from, to] : way.moves) {
    const Answer answer = moves.move_part("a", from, to);
    ASSERT_EQ(answer.status, 0) << answer.errors << moves.log();
    EXPECT_THAT(answer.output, HasSubstr("is on worker " + std::to_string(to)));
    moves.wait_for_flow();
    ++done;
  }
  moves.end();
  moves.expect_whole("a.mp4");
  const auto camera = moves.rig().camera("a");
  EXPECT_TRUE(camera.at("frames").at("dropped").empty()) << camera << moves.log();
  EXPECT_EQ(camera.at("worker_restarts"), 0);
  EXPECT_EQ(camera.at("moves"), done);
}

INSTANTIATE_TEST_SUITE_P(Of, StageMoves,
                         testing::Values(Way{"ToTheWorkerOfItsNeighbour", "drop", two_stages, {{0, 1}, {1, 2}}},
                                         Way{"EveryPart", "block", two_tiles, {{0, 1}, {2, 0}, {1, 2}}},
                                         Way{"WithMotion", "block", two_tiles, {{2, 0}, {1, 2}}, "[sharpen, motion]"}),
                         [](const auto& one) { return one.param.title; });

// Its further outputs are made by the first node.
TEST(StageMovesOfAll, OutputsGoOnAsTheyWere) {
  MoveRig moves = rig_of(keys_of({.placement = two_stages}) +
                             "    snapshot: {path: a.jpg, every: 200ms}\n"
                             "    outputs:\n      slow: {rate: 5, record: {path: slow.mp4}}\n",
                         "block");
  moves.wait_for_flow();
  for (const auto& [from, to] : std::vector<std::pair<unsigned, unsigned>>{{0, 2}, {1, 0}, {2, 1}}) {
    const Answer answer = moves.move_part("a", from, to);
    ASSERT_EQ(answer.status, 0) << answer.errors << moves.log();
    moves.wait_for_flow();
  }
  ASSERT_TRUE(moves.rig().wait_for_growth("slow.mp4", moves.rig().size("slow.mp4")));
  moves.end();
  moves.expect_whole("a.mp4");
  MoveRig::expect_even(read_video(moves.rig().file("slow.mp4")), 200'000'000);
  const auto camera = moves.rig().camera("a");
  EXPECT_TRUE(camera.at("frames").at("dropped").empty()) << camera << moves.log();
}

// Who asked has the answer when the part behind has its frames: the next one can go at once.
TEST(StageMovesOneAfterAnother, NeedNoWait) {
  MoveRig moves = rig_of(keys_of({.placement = two_tiles}));
  moves.wait_for_flow();
  for (const auto& [from, to] : std::vector<std::pair<unsigned, unsigned>>{{0, 1}, {2, 0}, {1, 2}, {1, 2}, {2, 0}}) {
    const Answer answer = moves.move_part("a", from, to);
    EXPECT_EQ(answer.status, 0) << from << " to " << to << ": " << answer.errors << moves.log();
  }
  moves.wait_for_flow();
  const nlohmann::json graph = moves.status_of("a").at("graph");
  for (const auto& edge : graph.at("edges")) EXPECT_EQ(edge.at("missed"), 0) << edge;
  moves.end();
  moves.expect_whole("a.mp4");
  const auto camera = moves.rig().camera("a");
  EXPECT_TRUE(camera.at("frames").at("dropped").empty()) << camera << moves.log();
}

// Of frames that would take too much as tiles, all tiles but the first make nothing.
TEST(StageMovesOfFramesThatAreNotTiled, GoOverLikeOthers) {
  MoveRig moves = rig_of(
      keys_of(
          {.placement = "{tiles: [cpu:0, cpu:1, cpu:0], encode: cpu:2}", .filters = "[sharpen, {blur: {sigma: 8}}]"}) +
      "    queue_size: 16\n    source: \"test://pattern?width=160&height=120&rate=" + std::to_string(rate) + "\"\n");
  moves.wait_for_flow();
  ASSERT_THAT(moves.log(), HasSubstr("its frames are not tiled"));
  for (const auto& [from, to] : std::vector<std::pair<unsigned, unsigned>>{{2, 0}, {0, 2}, {1, 2}, {0, 1}}) {
    const Answer answer = moves.move_part("a", from, to);
    EXPECT_EQ(answer.status, 0) << from << " to " << to << ": " << answer.errors << moves.log();
  }
  moves.wait_for_flow();
  moves.end();
  MoveRig::expect_even(read_video(moves.rig().file("a.mp4")),
                       1'000'000'000 / rate);  // the blur leaves no number in the frames
  const auto camera = moves.rig().camera("a");
  EXPECT_TRUE(camera.at("frames").at("dropped").empty()) << camera << moves.log();
}

TEST(StageMovesRefused, SayWhosePartHasToBeNamed) {
  MoveRig moves(keys_of({.placement = two_stages}));
  moves.wait_for_flow();
  Answer answer = moves.move("a", 2);
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.errors, HasSubstr("it is processed by stage or by tile, in the workers 0, 1: say whose part of it "
                                       "is to go over, as in `campipe move a WORKER --from 0`"));
  answer = moves.move_part("a", 2, 1);
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.errors, HasSubstr("worker 2 has no part of it; it is in 0, 1"));
  answer = moves.move_part("a", 1, 1);
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.errors, HasSubstr("it is on worker 1 already"));
  moves.end();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
