// Which camera runs on which node: what stays, what moves, and by whose leave.
#include "app/cluster/assign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/cpu_waits.h"
#include "tests/unit/sanitized.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

ClusterNode node(const std::string& name, double cores) { return {name, {{"cores", cores}}}; }
ClusterCamera camera(const std::string& name, double cores, int priority = 50) {
  return {name, priority, {{{"cores", cores}}}};
}

// `count` of each, named n00, c0000 and so on.
ClusterView many(int nodes, int cameras, double cores_of_a_node, double cores_of_a_camera) {
  ClusterView view;
  for (int i = 0; i < nodes; ++i) {
    view.nodes.push_back(node("n" + std::to_string(100 + i).substr(1), cores_of_a_node));
  }
  for (int i = 0; i < cameras; ++i) {
    view.cameras.push_back(camera("c" + std::to_string(10'000 + i).substr(1), cores_of_a_camera, i % 101));
  }
  return view;
}

using Places = std::map<std::string, CameraPlace>;

void settle(ClusterView& view, const Places& places) {
  view.current.clear();
  for (const auto& [name, place] : places) {
    if (!place.node.empty()) view.current[name] = {place.node, place.home};
  }
}

void remove_node(ClusterView& view, const std::string& name) {
  std::erase_if(view.nodes, [&](const ClusterNode& of) { return of.name == name; });
}

int on(const Places& places, const std::string& name) {
  return static_cast<int>(std::ranges::count_if(places, [&](const auto& place) { return place.second.node == name; }));
}

// No node has more than it can, and all cameras have one.
void expect_all_placed(const ClusterView& view, const Places& places) {
  std::map<std::string, double> used;
  ASSERT_EQ(places.size(), view.cameras.size());
  for (const ClusterCamera& of : view.cameras) {
    EXPECT_NE(places.at(of.name).node, "") << of.name << ": " << places.at(of.name).reason;
    used[places.at(of.name).node] += of.ways[0].at("cores");
  }
  for (const ClusterNode& of : view.nodes) EXPECT_LE(used[of.name], of.capacity.at("cores") + 1e-6) << of.name;
}

// A mosaic and what it shows.
TEST(Assign, CamerasOfAUnitAreOnOneNodeAndMoveTogether) {
  ClusterView view = many(3, 6, 10, 1);
  for (int i = 0; i < 3; ++i) view.cameras[static_cast<std::size_t>(i)].unit = "wall";
  const auto home_of = [](const Places& places) {
    EXPECT_EQ(places.at("c0001"), places.at("c0000"));
    EXPECT_EQ(places.at("c0002"), places.at("c0000"));
    return places.at("c0000").node;
  };
  Places places = assign_cameras(view);
  expect_all_placed(view, places);
  const std::string first = home_of(places);
  settle(view, places);
  EXPECT_EQ(assign_cameras(view), places);

  view.cameras[2].wanted_node = first == "n00" ? "n01" : "n00";  // one of them, so all
  view.current.erase("c0001");                                   // another one is new
  places = assign_cameras(view);
  EXPECT_EQ(home_of(places), view.cameras[2].wanted_node);
  settle(view, places);

  const std::string second = home_of(places);
  remove_node(view, second);
  places = assign_cameras(view);
  expect_all_placed(view, places);
  EXPECT_NE(home_of(places), second);
  for (const char* other : {"c0003", "c0004", "c0005"}) {
    const std::string& before = view.current.at(other).node;
    EXPECT_TRUE(before == second || places.at(other).node == before) << other;
  }

  for (ClusterNode& of : view.nodes) of.capacity["cores"] = 2;  // each of them alone has room
  places = assign_cameras(view);
  EXPECT_EQ(home_of(places), "");
  EXPECT_THAT(places.at("c0000").reason, HasSubstr("too little cores"));
}

TEST(Assign, SharesByCapacity) {
  ClusterView view = many(2, 30, 10, 0.5);
  view.nodes[1].capacity["cores"] = 20;
  const Places places = assign_cameras(view);
  expect_all_placed(view, places);
  EXPECT_NEAR(on(places, "n00"), 10, 1);
  EXPECT_NEAR(on(places, "n01"), 20, 1);
}

TEST(Assign, IsTheSameInAnyOrder) {
  ClusterView view = many(5, 60, 10, 0.7);
  const Places places = assign_cameras(view);
  std::ranges::reverse(view.nodes);
  std::ranges::reverse(view.cameras);
  EXPECT_EQ(assign_cameras(view), places);
}

TEST(Assign, StaysAsItIs) {
  ClusterView view = many(5, 60, 10, 0.7);
  const Places places = assign_cameras(view);
  settle(view, places);
  EXPECT_EQ(assign_cameras(view), places);
}

TEST(Assign, ADeadNodeMovesItsCamerasOnly) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::minstd_rand random(seed);
    ClusterView view = many(8, 100, 20, 1);
    for (ClusterCamera& of : view.cameras) of.ways[0]["cores"] = 0.5 + std::uniform_real_distribution(0.0, 1.0)(random);
    const Places before = assign_cameras(view);
    settle(view, before);
    const std::string dead = "n0" + std::to_string(seed % 8);
    remove_node(view, dead);
    const Places after = assign_cameras(view);
    expect_all_placed(view, after);
    for (const auto& [name, place] : before) {
      if (place.node != dead) {
        EXPECT_EQ(after.at(name), place) << name;
      } else {
        EXPECT_EQ(after.at(name).home, dead);
      }
    }
  }
}

TEST(Assign, WhoIsWaitedForKeepsItsCameras) {
  ClusterView view = many(3, 30, 20, 1);
  const Places before = assign_cameras(view);
  settle(view, before);
  remove_node(view, "n01");
  view.waited_for = {"n01"};
  const Places after = assign_cameras(view);
  for (const auto& [name, place] : before) EXPECT_EQ(after.at(name).node, place.node) << name;
}

TEST(Assign, LabelsAndFeaturesAreRequired) {
  ClusterView view = many(3, 3, 20, 1);
  view.nodes[1].labels = {{"hall", "2"}};
  view.nodes[2].features = {"hevc", "motion"};
  view.cameras[0].labels = {{"hall", "2"}};
  view.cameras[1].features = {"motion"};
  view.cameras[2].labels = {{"hall", "3"}};
  const Places places = assign_cameras(view);
  EXPECT_EQ(places.at("c0000").node, "n01");
  EXPECT_EQ(places.at("c0001").node, "n02");
  EXPECT_EQ(places.at("c0002").node, "");
  EXPECT_THAT(places.at("c0002").reason, HasSubstr("labels and features"));
}

TEST(Assign, TakesTheFirstWayThatANodeHas) {
  ClusterView view;
  view.nodes = {{"gpu", {{"cores", 4}, {"decode", 1000}}}, {"cpu", {{"cores", 40}}}};
  for (int i = 0; i < 12; ++i) {
    view.cameras.push_back({"c" + std::to_string(10 + i), 50, {{{"cores", 0.2}, {"decode", 100}}, {{"cores", 2}}}});
  }
  const Places places = assign_cameras(view);
  // Ten fill the GPU's decoders. On that node none is decoded on its cores, which cameras would only share there.
  EXPECT_LE(on(places, "gpu"), 10);
  EXPECT_EQ(on(places, "gpu") + on(places, "cpu"), 12);
}

TEST(Assign, ImportantCamerasGoFirstWhereNotAllFit) {
  ClusterView view;
  view.nodes = {node("a", 3), node("b", 3)};
  for (int i = 0; i < 6; ++i) view.cameras.push_back(camera("c" + std::to_string(i), 1, 10 * i));
  settle(view, assign_cameras(view));
  ASSERT_EQ(view.current.size(), 6U);
  remove_node(view, "a");
  const Places places = assign_cameras(view);
  for (int i = 0; i < 6; ++i) {
    const CameraPlace& place = places.at("c" + std::to_string(i));
    EXPECT_EQ(place.node, i >= 3 ? "b" : "") << i;
    EXPECT_EQ(place.reason.empty(), i >= 3);
  }
}

TEST(Assign, AsFewAsPossibleGiveWay) {
  ClusterView view;
  view.nodes = {node("a", 10)};
  view.cameras = {camera("small", 1, 1), camera("large", 6, 2), camera("mate", 3, 50)};
  settle(view, assign_cameras(view));
  ASSERT_EQ(view.current.size(), 3U);
  view.cameras.push_back(camera("new", 5, 90));
  const Places places = assign_cameras(view);
  EXPECT_EQ(places.at("new").node, "a");
  EXPECT_EQ(places.at("large").node, "");
  EXPECT_THAT(places.at("large").reason, HasSubstr("too little cores"));
  EXPECT_EQ(places.at("small").node, "a") << "its going would not have been enough, and was not needed";
  EXPECT_EQ(places.at("mate").node, "a");
}

TEST(Assign, EqualCamerasGiveNoWay) {
  ClusterView view;
  view.nodes = {node("a", 2)};
  view.cameras = {camera("one", 1), camera("two", 1)};
  settle(view, assign_cameras(view));
  view.cameras.push_back(camera("a-third", 1));
  const Places places = assign_cameras(view);
  EXPECT_EQ(places.at("a-third").node, "");
  EXPECT_EQ(places.at("one").node, "a");
  EXPECT_EQ(places.at("two").node, "a");
}

TEST(Assign, ADrainedNodeGivesUpItsCamerasAndTakesNone) {
  ClusterView view = many(3, 30, 20, 1);
  settle(view, assign_cameras(view));
  view.nodes[0].draining = true;
  const Places places = assign_cameras(view);
  expect_all_placed(view, places);
  EXPECT_EQ(on(places, "n00"), 0);
}

TEST(Assign, WhatHasNoOtherPlaceStaysOnADrainedNode) {
  ClusterView view;
  view.nodes = {node("a", 2), node("b", 2)};
  for (int i = 0; i < 4; ++i) view.cameras.push_back(camera("c" + std::to_string(i), 1, 10 * i));
  const Places before = assign_cameras(view);
  settle(view, before);
  view.nodes[0].draining = true;
  const Places after = assign_cameras(view);
  for (const auto& [name, place] : before) {
    EXPECT_EQ(after.at(name).node, place.node) << "nobody gives way to a camera that has a place";
    EXPECT_EQ(after.at(name).reason.find("no other node can take it") != std::string::npos, place.node == "a");
  }
}

TEST(Assign, WhatANodeCannotRecordGoesElsewhereAndNotBack) {
  ClusterView view = many(3, 30, 20, 1);
  const Places before = assign_cameras(view);
  settle(view, before);
  const std::string name =
      std::ranges::find_if(before, [](const auto& place) { return place.second.node == "n00"; })->first;
  view.nodes[0].unfit = {name};
  Places after = assign_cameras(view);
  EXPECT_NE(after.at(name).node, "n00");
  EXPECT_EQ(after.at(name).reason, "n00 cannot run or record it now");
  const Places moved = after;
  after.at(name) = before.at(name);
  EXPECT_EQ(after, before) << "nothing else moves for it";
  settle(view, moved);
  ASSERT_EQ(view.cameras[std::stoul(name.substr(1))].name, name);
  view.cameras[std::stoul(name.substr(1))].wanted_node = "n00";
  EXPECT_EQ(assign_cameras(view).at(name).node, moved.at(name).node);
  view.nodes[0].unfit.clear();
  EXPECT_EQ(assign_cameras(view).at(name).node, "n00");
}

TEST(Assign, WhatNoNodeCanRecordStaysWhereItIs) {
  ClusterView view;
  view.nodes = {node("a", 2), node("b", 2)};
  view.cameras = {camera("c", 1), camera("d", 1)};
  const Places before = assign_cameras(view);
  settle(view, before);
  for (ClusterNode& of : view.nodes) of.unfit = {"c"};
  const std::string& here = before.at("c").node;
  Places after = assign_cameras(view);
  EXPECT_EQ(after.at("c").node, here);
  EXPECT_EQ(after.at("c").reason,
            "it stays on " + here + ", which cannot run or record it now: no other node can take it");
  EXPECT_EQ(after.at("d"), before.at("d"));
  view.current.erase("c");
  EXPECT_EQ(assign_cameras(view).at("c").reason, "no node can run and record it now");
}

// One that has to be placed goes where others are recorded, if it can.
TEST(Assign, ANodeThatCannotRecordOthersComesLast) {
  ClusterView view;
  view.nodes = {node("a", 9), node("b", 3)};
  view.nodes[0].unfit = {"gone"};
  for (int i = 0; i < 4; ++i) view.cameras.push_back(camera("c" + std::to_string(i), 1));
  const Places places = assign_cameras(view);
  EXPECT_EQ(on(places, "b"), 3);
  EXPECT_EQ(on(places, "a"), 1);
}

TEST(Assign, GoesWhereItIsWanted) {
  ClusterView view = many(2, 10, 20, 1);
  const Places before = assign_cameras(view);
  settle(view, before);
  const std::string here = before.at("c0003").node;
  const std::string there = here == "n00" ? "n01" : "n00";
  view.cameras[3].wanted_node = there;
  Places after = assign_cameras(view);
  EXPECT_EQ(after.at("c0003").node, there);
  after.at("c0003") = before.at("c0003");
  EXPECT_EQ(after, before) << "nothing else moves for it";
  for (ClusterNode& of : view.nodes) of.capacity["cores"] = on(before, of.name);
  const Places full = assign_cameras(view);
  EXPECT_EQ(full.at("c0003").node, here);
  EXPECT_THAT(full.at("c0003").reason, HasSubstr("has no room"));
}

TEST(Assign, WhereItIsWantedIsItsHome) {
  ClusterView view = many(2, 4, 20, 1);
  for (const ClusterCamera& of : view.cameras) view.current[of.name] = {"n00", "one that is gone for good"};
  view.cameras[0].wanted_node = "n00";
  view.cameras[1].wanted_node = "n01";
  const Places places = assign_cameras(view);
  EXPECT_EQ(places.at("c0000").home, "");
  EXPECT_EQ(places.at("c0001").home, "");
  EXPECT_EQ(places.at("c0002").home, "one that is gone for good");
}

TEST(Assign, GoesHomeOnlyWhereThatPays) {
  ClusterView view = many(2, 16, 20, 1);
  settle(view, assign_cameras(view));
  std::map<std::string, std::string> before_death;
  for (const auto& [name, place] : view.current) before_death[name] = place.node;
  const ClusterNode away = view.nodes[1];
  remove_node(view, "n01");
  settle(view, assign_cameras(view));
  ASSERT_EQ(view.current.size(), 16U);

  view.nodes.push_back(away);
  view.nodes.back().settled = false;
  EXPECT_EQ(on(assign_cameras(view), "n01"), 0) << "it may go again at once";
  view.nodes.back().settled = true;
  const Places back = assign_cameras(view);
  EXPECT_GT(on(back, "n01"), 0);
  EXPECT_LE(on(back, "n01"), 8) << "a few at a time";
  for (const auto& [name, place] : back) {
    EXPECT_EQ(place.home, place.node == "n01" ? "" : before_death.at(name) == "n01" ? "n01" : "") << name;
  }
  settle(view, back);
  const Places next = assign_cameras(view);
  settle(view, next);
  EXPECT_EQ(assign_cameras(view), next) << "it comes to rest";

  // A host that has little to do keeps them.
  ClusterView idle = many(2, 4, 20, 1);
  for (const ClusterCamera& of : idle.cameras) idle.current[of.name] = {"n00", "n01"};
  EXPECT_EQ(on(assign_cameras(idle), "n00"), 4);
}

TEST(Assign, ANearlyFullNodeIsRelievedByANewOne) {
  ClusterView view = many(1, 19, 20, 1);
  settle(view, assign_cameras(view));
  view.nodes.push_back(node("n01", 20));
  const Places places = assign_cameras(view);
  EXPECT_GT(on(places, "n01"), 0);
  EXPECT_LE(on(places, "n01"), 8);
}

TEST(Assign, WithoutNodesThereIsAReason) {
  ClusterView view = many(0, 2, 0, 1);
  for (const auto& [name, place] : assign_cameras(view)) {
    EXPECT_EQ(place.node, "");
    EXPECT_EQ(place.reason, "no node is there");
  }
}

TEST(Assign, AThousandCamerasOnFiftyNodesInTwoSeconds) {
  ClusterView view = many(50, 1000, 12, 0.5);
  const auto begun = test::thread_cpu_time();
  const Places first = assign_cameras(view);
  EXPECT_LT(test::thread_cpu_time() - begun, test::is_sanitized ? 20s : 2s);
  expect_all_placed(view, first);
  settle(view, first);
  remove_node(view, "n07");
  const auto again = test::thread_cpu_time();
  const Places after = assign_cameras(view);
  EXPECT_LT(test::thread_cpu_time() - again, test::is_sanitized ? 20s : 2s);
  int moved = 0;
  for (const auto& [name, place] : first) moved += after.at(name).node != place.node ? 1 : 0;
  EXPECT_EQ(moved, on(first, "n07"));

  // And where a third does not fit, so that the unimportant give way.
  for (ClusterNode& of : view.nodes) of.capacity["cores"] = 6.5;
  const auto short_of = test::thread_cpu_time();
  const Places crowded = assign_cameras(view);
  EXPECT_LT(test::thread_cpu_time() - short_of, test::is_sanitized ? 20s : 2s);
  int highest_out = -1;
  int lowest_in = 101;
  for (const ClusterCamera& of : view.cameras) {
    if (crowded.at(of.name).node.empty()) highest_out = std::max(highest_out, of.priority);
    if (!crowded.at(of.name).node.empty()) lowest_in = std::min(lowest_in, of.priority);
  }
  EXPECT_GE(highest_out, 0);
  EXPECT_LE(highest_out, lowest_in) << "nobody important is out while somebody less important is in";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
