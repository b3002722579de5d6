// Which rank runs which cameras, and the rig's file that each rank gets.
#include "app/mpi/rank_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "app/config/config.h"
#include "core/error.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr const char* three_cameras = R"(
cameras:
  a: {source: "test://pattern?rate=25"}
  b: {source: "test://pattern?rate=25"}
  c: {source: "test://pattern?rate=25"}
)";

class RankPlanTest : public testing::Test {
 protected:
  LoadedConfig load(const std::string& text) {
    replace_file(file(), text);
    LoadedConfig loaded = load_config(file());
    for (const ConfigError& error : loaded.errors) ADD_FAILURE() << format(error, "rig.yaml");
    return loaded;
  }
  YamlNode tree(const std::string& text) {
    replace_file(file(), text);
    return std::get<YamlNode>(read_yaml_file(file()));
  }
  RankPlan plan(const std::string& text, const std::vector<RankOffer>& offers) {
    Machine machine = this_machine();
    return plan_ranks(load(text), offers, machine, machine_costs({}, machine.devices));
  }
  std::filesystem::path file() const { return folder_.path() / "rig.yaml"; }

  TemporaryFolder folder_;
};

RankOffer with_cores(double cores) {
  RankOffer offer;
  offer.host = "hall";
  offer.capacity = {{"cores", cores}, {"memory", 1e12}};
  return offer;
}

TEST_F(RankPlanTest, EachCameraRunsOnOneRank) {
  const RankPlan made = plan(three_cameras, {with_cores(8), with_cores(8), with_cores(8)});
  ASSERT_EQ(made.parts.size(), 3U);
  for (const RankPart& part : made.parts) EXPECT_EQ(part.cameras.size(), 1U) << part.rank;
  EXPECT_TRUE(made.nowhere.empty());
}

TEST_F(RankPlanTest, WhatMeetsInAMosaicOrAGroupIsOnOneRank) {
  const std::string rig = R"(
cameras:
  a: {source: "test://pattern?rate=25", rate: 25}
  b: {source: "test://pattern?rate=25", rate: 25}
  c: {source: "test://pattern?rate=25", rate: 25}
  d: {source: "test://pattern?rate=25"}
  e: {source: "test://pattern?rate=25", enabled: false}
mosaics:
  wall: {cameras: [b, d], width: 640, height: 480, rate: 25}
sync_groups:
  pair: {cameras: [a, b]}
)";
  const RankPlan made = plan(rig, {with_cores(8), with_cores(8)});
  std::vector<std::set<std::string>> parts;
  for (const RankPart& part : made.parts) parts.push_back(part.cameras);
  EXPECT_THAT(parts, UnorderedElementsAre(std::set<std::string>{"a", "b", "d", "wall"}, std::set<std::string>{"c"}));
  EXPECT_THAT(made.nowhere, ElementsAre(std::pair("e", "it is disabled")));
  // Each part is a rig by itself.
  for (const RankPart& part : made.parts) {
    const LoadedConfig own = load(rank_rig(tree(rig), part));
    std::set<std::string> names;
    for (const CameraConfig& camera : own.rig.cameras) names.insert(camera.name);
    EXPECT_EQ(names, part.cameras);
  }
}

TEST_F(RankPlanTest, WhatIsDisabledGoesWithTheMosaicThatShowsIt) {
  const RankPlan made = plan(R"(
cameras:
  a: {source: "test://pattern?rate=25"}
  b: {source: "test://pattern?rate=25", enabled: false}
mosaics:
  wall: {cameras: [a, b], width: 640, height: 480, rate: 25}
)",
                             {with_cores(8)});
  EXPECT_THAT(made.parts.at(0).cameras, ElementsAre("a", "b", "wall"));
}

TEST_F(RankPlanTest, ForWhatHasNoRoomItSaysWhy) {
  const RankPlan made = plan(three_cameras, {with_cores(0)});
  EXPECT_TRUE(made.parts.at(0).cameras.empty());
  EXPECT_THAT(made.nowhere.at("a"), HasSubstr("too little cores"));
  EXPECT_THAT(describe(made, {with_cores(0)}, tree(three_cameras)),
              testing::AllOf(HasSubstr("rank0 on hall: no cameras\n"), HasSubstr("a runs nowhere: ")));
}

TEST_F(RankPlanTest, OffersGoThroughTheirText) {
  RankOffer offer = with_cores(3);
  offer.local = 1;
  offer.on_machine = 2;
  offer.version = "1.2";
  offer.problem = "no \"home\"";
  const RankOffer read = read_rank_offer(write_rank_offer(offer));
  EXPECT_EQ(read.host, "hall");
  EXPECT_EQ(read.local, 1U);
  EXPECT_EQ(read.on_machine, 2U);
  EXPECT_EQ(read.version, "1.2");
  EXPECT_EQ(read.problem, offer.problem);
  EXPECT_EQ(read.capacity, offer.capacity);
  EXPECT_THROW(read_rank_offer("{}"), Error);
  EXPECT_THROW(read_rank_offer("rank"), Error);
}

TEST_F(RankPlanTest, RanksOfOneMachineShareIt) {
  Machine machine = this_machine();
  const MachineCosts costs = machine_costs({}, machine.devices);
  const Amounts whole = capacity_of_rank(machine, costs, 1);
  const Amounts half = capacity_of_rank(machine, costs, 2);
  EXPECT_GT(half.at("cores"), 0);
  EXPECT_DOUBLE_EQ(whole.at("cores"), 2 * half.at("cores"));
  EXPECT_DOUBLE_EQ(whole.at("memory"), 2 * half.at("memory"));
}

TEST_F(RankPlanTest, ARanksFileKeepsWhatItsOwnerWrote) {
  const std::string rig = R"(
http_address: "${HALL}:9000"
events: "log.d/events.jsonl"
defaults: {record: {path: "{camera}.mp4"}}
cameras:
  dock: {source: "rtsp://viewer:${DOCK_PASSWORD}@10.0.3.7/stream1", encode: {codec: copy}, record: }
  yard: {source: "test://pattern?rate=25"}
)";
  const YamlNode whole = tree(rig);
  const YamlNode own = tree(rank_rig(whole, {.rank = 3, .local = 2, .cameras = {"dock"}}));
  const auto at = [&](const YamlNode& node, const std::string& key) -> const YamlNode& {
    return *std::ranges::find(node.children, key, &YamlNode::key);
  };
  EXPECT_EQ(at(own, "http_address").text, "${HALL}:9002");
  EXPECT_EQ(at(own, "rtsp_address").text, "127.0.0.1:8556");
  EXPECT_EQ(at(own, "events").text, "log.d/events.rank3.jsonl");
  EXPECT_EQ(at(at(at(own, "defaults"), "record"), "path").text, "{camera}.mp4");
  ASSERT_EQ(at(own, "cameras").children.size(), 1U);
  const YamlNode& dock = at(at(own, "cameras"), "dock");
  EXPECT_EQ(at(dock, "source").text, "rtsp://viewer:${DOCK_PASSWORD}@10.0.3.7/stream1");
  EXPECT_EQ(at(dock, "record").kind, YamlNode::Kind::null);
}

TEST_F(RankPlanTest, PortsOfRanksOnOneMachineDiffer) {
  const YamlNode rig = tree("http_address: ':8080'\nrtsp_address: off\n");
  EXPECT_EQ(rank_address(rig, "http_address", {.rank = 4, .local = 0}), ":8080");
  EXPECT_EQ(rank_address(rig, "http_address", {.rank = 5, .local = 1}), ":8081");
  EXPECT_EQ(rank_address(rig, "rtsp_address", {.rank = 5, .local = 1}), "");
  EXPECT_EQ(rank_address(tree("http_address: '127.0.0.1:0'"), "http_address", {.local = 1}), "127.0.0.1:0");
  EXPECT_THROW(rank_address(tree("http_address: '127.0.0.1:65535'"), "http_address", {.local = 1}), Error);
  EXPECT_THROW(rank_address(tree("http_address: '${HALL}'"), "http_address", {.local = 1}), Error);
  EXPECT_EQ(rank_address(tree("http_address: '${HALL}'"), "http_address", {.local = 0}), "${HALL}");
}

TEST_F(RankPlanTest, EventsOfEachRankHaveAFile) {
  const YamlNode rig = tree(three_cameras);
  EXPECT_THAT(rank_rig(rig, {.rank = 1, .cameras = {"a"}, .has_motion = true}), HasSubstr("events.rank1.jsonl"));
  EXPECT_THAT(rank_rig(rig, {.rank = 1, .cameras = {"a"}}), Not(HasSubstr("events")));
  EXPECT_EQ(with_rank("folder.d/report", 2), "folder.d/report.rank2");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
