// What the elected node decides from the cluster's keys, and what a node makes of the plan.
#include "app/cluster/cluster_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/cluster/duties.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

const ClusterKeys keys("test");
const Clock::time_point start = Clock::time_point() + 1h;

// The cluster's keys, as they would be in etcd.
class Keys {
 public:
  void put(const std::string& key, const std::string& value, std::int64_t under = 0) {
    apply({false, {key, value, ++revision_, revision_, 1, under}});
  }
  void erase(const std::string& key) { apply({true, {key, "", 0, ++revision_}}); }
  static constexpr std::int64_t lease = 7;
  void join(const std::string& node, double cores = 10) {
    NodeOffer offer{node, "instance of " + node, "10.0.0.1:8443", "1"};
    offer.capacity = {{"cores", cores}};
    put(keys.node(node), write_offer(offer), lease);
  }
  // As write_plan() does, but by one transaction.
  void carry_out(const ClusterPlanner::Decision& decision) {
    for (const auto& [camera, assignment] : decision.wanted) {
      CameraAssignment next = assignment;
      next.epoch = 1;
      next.revision = 0;
      const StoredPlan now = plan();
      const auto known = now.cameras.find(camera);
      if (known != now.cameras.end() && known->second.assignment.node == next.node) {
        next.revision = known->second.fence.revision;
      }
      put(keys.generation(1) + camera, write_assignment(next));
    }
    put(keys.plan(), R"({"schema":1,"generation":1,"epoch":1})");
  }
  [[nodiscard]] StoredPlan plan() const { return read_plan(mirror_, keys); }
  [[nodiscard]] const EtcdMirror& mirror() const { return mirror_; }

 private:
  void apply(EtcdEvent event) { mirror_.apply({false, {std::move(event)}, revision_}); }
  EtcdMirror mirror_;
  std::int64_t revision_ = 0;
};

std::vector<ClusterCamera> cameras(int count) {
  std::vector<ClusterCamera> all;
  for (int i = 0; i < count; ++i) all.push_back({"c" + std::to_string(i), 50, {{{"cores", 1}}}});
  return all;
}

class ClusterPlannerTest : public testing::Test {
 protected:
  ClusterPlanner::Decision decide(Clock::time_point now) {
    return planner_.decide(keys_.mirror(), keys, keys_.plan(), cameras_, now);
  }
  void plan(Clock::time_point now) { keys_.carry_out(decide(now)); }
  std::string node_of(const std::string& camera) { return keys_.plan().cameras.at(camera).assignment.node; }

  Keys keys_;
  ClusterPlanner planner_{5s};
  std::vector<ClusterCamera> cameras_ = cameras(8);
};

TEST_F(ClusterPlannerTest, ComesToRest) {
  keys_.join("a");
  keys_.join("b");
  plan(start);
  const auto next = decide(start + 1s);
  EXPECT_THAT(next.moves, IsEmpty());
  for (const auto& [camera, assignment] : next.wanted)
    EXPECT_EQ(assignment, keys_.plan().cameras.at(camera).assignment);
}

TEST_F(ClusterPlannerTest, ADeadNodesCamerasMoveAndSayWhereTheyCameFrom) {
  for (const char* node : {"a", "b", "c"}) keys_.join(node);
  plan(start);
  const StoredPlan before = keys_.plan();
  keys_.erase(keys.node("b"));
  const auto decision = decide(start + 1s);
  EXPECT_FALSE(decision.moves.empty());
  for (const auto& move : decision.moves) {
    EXPECT_EQ(move.from, "b");
    EXPECT_EQ(decision.wanted.at(move.camera).from, "b");
    EXPECT_EQ(decision.wanted.at(move.camera).home, "b");
  }
  keys_.carry_out(decision);
  for (const auto& [camera, stored] : before.cameras) {
    const bool moved = stored.assignment.node == "b";
    EXPECT_EQ(keys_.plan().cameras.at(camera).fence > stored.fence, moved) << camera;
  }
}

TEST_F(ClusterPlannerTest, MostOfThemAreWaitedFor) {
  for (const char* node : {"a", "b", "c"}) keys_.join(node);
  plan(start);
  keys_.erase(keys.node("b"));
  keys_.erase(keys.node("c"));
  const auto waiting = decide(start + 1s);
  EXPECT_THAT(waiting.waited_for, UnorderedElementsAre("b", "c"));
  EXPECT_THAT(waiting.moves, IsEmpty());
  EXPECT_EQ(waiting.look_again, start + 6s);
  // Another planner, that has just been elected, waits too.
  EXPECT_THAT(ClusterPlanner(5s).decide(keys_.mirror(), keys, keys_.plan(), cameras_, start + 5s).moves, IsEmpty());
  const auto given_up = decide(start + 6s);
  EXPECT_THAT(given_up.waited_for, IsEmpty());
  EXPECT_FALSE(given_up.moves.empty());
}

TEST_F(ClusterPlannerTest, ObeysDrainsAndWishes) {
  keys_.join("a");
  keys_.join("b");
  plan(start);
  const std::string there = node_of("c0") == "a" ? "b" : "a";
  keys_.put(keys.wanted("c0"), R"({"schema":1,"node":")" + there + "\"}");
  plan(start + 1s);
  EXPECT_EQ(node_of("c0"), there);
  keys_.put(keys.drained("b"), R"({"schema":1})");
  const auto drained = decide(start + 2s);
  for (const auto& move : drained.moves) EXPECT_EQ(move.reason, "b is drained");
  keys_.carry_out(drained);
  for (const ClusterCamera& camera : cameras_) EXPECT_EQ(node_of(camera.name), "a");
}

TEST_F(ClusterPlannerTest, AnOfferThatIsTooLargeIsThatNodesAlone) {
  for (const char* node : {"a", "b", "c"}) keys_.join(node);
  plan(start);
  NodeOffer large{"b", "instance of b", "10.0.0.1:8443", "1"};
  large.capacity = {{"cores", 10}};
  for (const bool is_in_labels : {true, false}) {
    NodeOffer offer = large;
    if (is_in_labels)
      for (int i = 0; i < 20; ++i) offer.labels["label " + std::to_string(i)] = std::string(1000, 'x');
    else
      offer.address = std::string(1'300'000, 'x');
    keys_.put(keys.node("b"), write_offer(offer), Keys::lease);
    EXPECT_THAT(decide(start + 1s).unreadable, ElementsAre("b"));
    EXPECT_THAT(decide(start + 1s).moves, IsEmpty()) << "its cameras stay";
    keys_.erase(keys.node("c"));
    EXPECT_THAT(decide(start + 2s).moves, Not(IsEmpty())) << "the others go on without it";
    keys_.join("c");
  }
}

// Nobody knows who put it there, and it never goes.
TEST_F(ClusterPlannerTest, AnOfferWithoutALeaseIsOfNobody) {
  keys_.join("a");
  keys_.put(keys.node("b"), write_offer({"b", "1", "10.0.0.1:8443", "1", 1, 1, {}, {}, {{"cores", 1000}}}));
  plan(start);
  for (const ClusterCamera& camera : cameras_) EXPECT_EQ(node_of(camera.name), "a");
}

TEST_F(ClusterPlannerTest, ANodeOfANewerVersionKeepsItsCameras) {
  keys_.join("a");
  keys_.join("b");
  plan(start);
  keys_.put(keys.node("b"), R"({"schema":2,"whereabouts":"unknown"})", Keys::lease);
  const auto decision = decide(start + 1s);
  EXPECT_THAT(decision.unreadable, ElementsAre("b"));
  EXPECT_THAT(decision.moves, IsEmpty());
}

TEST_F(ClusterPlannerTest, NodesHaveToBeThereForAWhileBeforeCamerasComeBack) {
  cameras_ = cameras(18);
  keys_.join("a", 20);
  plan(start);
  keys_.join("b", 20);
  const auto early = decide(start + 1s);
  EXPECT_THAT(early.moves, IsEmpty());
  EXPECT_EQ(early.look_again, start + 60s) << "a's own";
  EXPECT_THAT(decide(start + 60s).moves, IsEmpty());
  EXPECT_FALSE(decide(start + 61s).moves.empty());
}

TEST_F(ClusterPlannerTest, ANodeObeysItsPlan) {
  keys_.join("a");
  keys_.join("b");
  plan(start);
  DutyKeeper a("a");
  DutyKeeper b("b");
  const NodeDuties of_a = a.update(keys_.plan(), keys_.mirror(), keys);
  const NodeDuties of_b = b.update(keys_.plan(), keys_.mirror(), keys);
  EXPECT_EQ(of_a.size() + of_b.size(), 8U);
  for (const auto& [camera, duty] : of_a) EXPECT_FALSE(of_b.contains(camera));
  const StoredPlan old = keys_.plan();
  keys_.erase(keys.node("b"));
  plan(start + 1s);
  EXPECT_EQ(a.update(keys_.plan(), keys_.mirror(), keys).size(), 8U);
  for (const auto& [camera, stored] : keys_.plan().cameras) {
    keys_.put(keys.recorder("a", camera), R"({"schema":1,"fence":")" + text_of(stored.fence) + "\"}", Keys::lease);
  }
  // b comes back, and sees first what is new, then by a member that lags what was before.
  EXPECT_THAT(b.update(keys_.plan(), keys_.mirror(), keys), IsEmpty());
  EXPECT_THAT(b.update(old, keys_.mirror(), keys), IsEmpty());
}

TEST(SavedDuties, AreThoseOfThisNodeOnly) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "duties.json";
  EXPECT_FALSE(saved_duties(file, "hall", "a"));
  const NodeDuties duties{{"dock", {{1, 5}}}, {"gate", {{2, 7}}}};
  save_duties(file, "hall", "a", duties);
  EXPECT_EQ(saved_duties(file, "hall", "a"), duties);
  EXPECT_FALSE(saved_duties(file, "hall", "b"));
  EXPECT_FALSE(saved_duties(file, "other", "a"));
  for (const char* bad : {"", "{", "[]", R"({"schema":1,"cluster":"hall","node":"a"})",
                          R"({"schema":2,"cluster":"hall","node":"a","cameras":{}})",
                          R"({"schema":1,"cluster":"hall","node":"a","cameras":{"dock":{"epoch":1}}})",
                          R"({"schema":1,"cluster":"hall","node":"a","cameras":{"dock":7}})"}) {
    test::replace_file(file, bad);
    EXPECT_FALSE(saved_duties(file, "hall", "a")) << bad;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
