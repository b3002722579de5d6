// The rules of a cluster that need no etcd: leases, offers, fences, nodes that vanish, starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/cluster/assignment.h"
#include "app/cluster/election.h"
#include "app/cluster/lease_clock.h"
#include "app/cluster/node_offer.h"
#include "app/cluster/vanished_nodes.h"
#include "app/supervisor/cluster/start_pacer.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const Clock::time_point start = Clock::time_point() + 1h;
using Names = std::set<std::string>;

TEST(LeaseClock, CountsFromTheSendingOfWhatWasAnswered) {
  LeaseClock clock;
  clock.sent(start);
  clock.answered(start, 6s);
  EXPECT_EQ(clock.next(), start + 2s);
  EXPECT_EQ(clock.ends(), start + 6s);
  // One that is not answered prolongs nothing, and the next one is due all the same.
  clock.sent(start + 2s);
  EXPECT_EQ(clock.ends(), start + 6s);
  EXPECT_EQ(clock.next(), start + 4s);
  // However long the answer took.
  clock.sent(start + 4s);
  clock.answered(start + 4s, 6s);
  EXPECT_EQ(clock.ends(), start + 10s);
  // An answer that comes late takes nothing back.
  clock.answered(start + 2s, 6s);
  EXPECT_EQ(clock.ends(), start + 10s);
}

TEST(LeaseClock, EffectsEndASecondBeforeIt) {
  LeaseClock clock;
  EXPECT_FALSE(clock.allows_effects(start)) << "without a lease there are none";
  clock.answered(start, 5s);
  EXPECT_TRUE(clock.allows_effects(start + 3999ms));
  EXPECT_FALSE(clock.allows_effects(start + 4s));
  EXPECT_FALSE(clock.is_over(start + 4999ms));
  EXPECT_TRUE(clock.is_over(start + 5s));
}

NodeOffer some_offer() {
  NodeOffer offer{"hall-1", "0123", "10.0.0.1:8443", "1.2.3"};
  offer.features = {"hevc", "motion"};
  offer.labels = {{"hall", "1"}};
  offer.capacity = {{"cores", 7.5}, {"decode", 3100}};
  offer.devices = {{"gpus", nlohmann::json::array()}};
  offer.draining = true;
  offer.unfit = {"c1", "c7"};
  return offer;
}

TEST(NodeOffer, IsReadAsItWasWritten) { EXPECT_EQ(read_offer("hall-1", write_offer(some_offer())), some_offer()); }

TEST(NodeOffer, KeepsWhatItDoesNotKnow) {
  auto json = nlohmann::json::parse(write_offer(some_offer()));
  json["moon_phase"] = {{"of", 3}};
  const auto offer = read_offer("hall-1", json.dump());
  ASSERT_TRUE(offer);
  EXPECT_EQ(nlohmann::json::parse(write_offer(*offer)), json);
}

TEST(NodeOffer, WhatIsNoneIsNotRead) {
  const auto good = nlohmann::json::parse(write_offer(some_offer()));
  const auto with = [&](const char* key, const nlohmann::json& value) {
    auto bad = good;
    bad[key] = value;
    return read_offer("hall-1", bad.dump());
  };
  EXPECT_TRUE(with("version", "9"));
  EXPECT_FALSE(with("schema", 2));
  EXPECT_FALSE(with("schema", "1"));
  EXPECT_FALSE(with("instance", ""));
  EXPECT_FALSE(with("capacity", {{"cores", -1}}));
  EXPECT_FALSE(with("capacity", {{"cores", "many"}}));
  EXPECT_FALSE(with("oldest_schema", 2));
  EXPECT_FALSE(with("newest_schema", 4'294'967'297));
  EXPECT_FALSE(read_offer("hall-1", "{"));
  EXPECT_FALSE(read_offer("hall-1", "[]"));
}

TEST(NodeOffer, EachStartIsAnotherInstance) {
  EXPECT_THAT(new_instance(), SizeIs(32));
  EXPECT_NE(new_instance(), new_instance());
}

TEST(Assignment, KeepsWhatItDoesNotKnow) {
  const std::string value = R"({"schema":1,"node":"a","epoch":2,"revision":7,"home":"b","colour":"red"})";
  const auto read = read_assignment(value);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->home, "b");
  EXPECT_EQ(nlohmann::json::parse(write_assignment(*read)), nlohmann::json::parse(value));
  EXPECT_FALSE(read_assignment(R"({"schema":2,"node":"a","epoch":2})"));
  EXPECT_FALSE(read_assignment(R"({"schema":1,"node":7,"epoch":2})"));
  EXPECT_FALSE(read_assignment(R"({"schema":1,"node":"a","epoch":-2})"));
  EXPECT_FALSE(read_assignment(R"({"schema":1,"node":"a","epoch":18446744073709551615})"));
  EXPECT_FALSE(read_assignment(R"({"schema":1,"node":"a","epoch":2,"reason":")" + std::string(1025, 'x') + "\"}"));
  // It would be written again with what is not known, by a recursion.
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_FALSE(read_assignment(R"({"schema":1,"node":"a","epoch":2,"more":)" + deep + "}"));
}

TEST(Fence, IsTheKeysRevisionUnlessTheValueSaysAnother) {
  EXPECT_EQ(fence_of({.node = "a", .epoch = 1}, 40), (Fence{1, 40}));
  EXPECT_EQ(fence_of({.node = "a", .epoch = 1, .revision = 30}, 40), (Fence{1, 30}));
}

TEST(Fence, LowerOnesAreNotObeyed) {
  FenceGuard guard;
  EXPECT_TRUE(guard.accept("dock", {1, 40}));
  EXPECT_TRUE(guard.accept("dock", {1, 40}));
  EXPECT_FALSE(guard.accept("dock", {1, 39}));
  EXPECT_TRUE(guard.accept("gate", {1, 39}));
  EXPECT_TRUE(guard.accept("dock", {2, 3})) << "a restored backup has lower revisions, and a higher epoch";
  EXPECT_FALSE(guard.accept("dock", {1, 41}));
}

TEST(Election, WhoWasThereFirstPlans) {
  EtcdMirror mirror;
  const ClusterKeys keys("hall");
  EXPECT_FALSE(elected_planner(mirror, keys));
  const auto put = [&](const std::string& key, std::int64_t created, std::int64_t lease) {
    mirror.apply({false, {{false, {key, "", created, 12, 1, lease}}}, 12});
  };
  for (const auto& [node, created, lease] : {std::tuple("a", 9, 3), std::tuple("b", 7, 4)}) {
    put(keys.node(node), created, lease);
    put(keys.planner(node), created, lease);
  }
  EXPECT_EQ(elected_planner(mirror, keys)->node, "b");
  EXPECT_EQ(elected_planner(mirror, keys)->candidacy, (Candidacy{keys.planner("b"), 7}));
  mirror.apply({false, {{true, {keys.planner("b"), "", 0, 13}}}, 13});
  EXPECT_EQ(elected_planner(mirror, keys)->node, "a");
}

// It would never go, and its node never plan.
TEST(Election, WhatIsLeftOverOfANodeDoesNotPlan) {
  EtcdMirror mirror;
  const ClusterKeys keys("hall");
  const auto put = [&](const std::string& key, std::int64_t created, std::int64_t lease) {
    mirror.apply({false, {{false, {key, "", created, created, 1, lease}}}, created});
  };
  put(keys.planner("gone"), 1, 0);
  put(keys.planner("gone too"), 2, 9);
  put(keys.planner("b"), 3, 0);
  EXPECT_FALSE(elected_planner(mirror, keys)) << "nobody plans";
  put(keys.node("a"), 4, 3);
  put(keys.planner("a"), 4, 3);
  put(keys.node("b"), 5, 4);
  ASSERT_TRUE(elected_planner(mirror, keys));
  EXPECT_EQ(elected_planner(mirror, keys)->node, "a") << "b's is of nobody who is there";
}

TEST(Mirror, AppliesChangesInTheirOrder) {
  EtcdMirror mirror;
  mirror.apply({true, {{false, {"a", "1", 1, 1}}}, 1});
  mirror.apply({false,
                {{true, {"a", "", 0, 2}}, {false, {"a", "2", 3, 3}}, {false, {"b", "", 4, 4}}, {true, {"b", "", 0, 5}}},
                5});
  ASSERT_NE(mirror.find("a"), nullptr);
  EXPECT_EQ(mirror.find("a")->value, "2");
  EXPECT_EQ(mirror.find("b"), nullptr);
  EXPECT_EQ(mirror.revision(), 5);
  mirror.apply({true, {}, 9});
  EXPECT_THAT(mirror.values(), IsEmpty());
}

TEST(VanishedNodes, OneIsGivenUpAtOnce) {
  VanishedNodes vanished(5s);
  vanished.look({"a", "b", "c"}, {"a", "b", "c"}, start);
  const auto view = vanished.look({"a", "b"}, {"a", "b", "c"}, start + 1s);
  EXPECT_THAT(view.waited_for, IsEmpty());
  EXPECT_FALSE(view.look_again);
}

TEST(VanishedNodes, HalfIsNotMoreThanHalf) {
  VanishedNodes vanished(5s);
  vanished.look({"a", "b"}, {"a", "b"}, start);
  EXPECT_THAT(vanished.look({"a"}, {"a", "b"}, start + 1s).waited_for, IsEmpty());
}

TEST(VanishedNodes, MostAreWaitedForOneMoreLease) {
  VanishedNodes vanished(5s);
  const Names all{"a", "b", "c"};
  vanished.look(all, all, start);
  const auto view = vanished.look({"a"}, all, start + 1s);
  EXPECT_THAT(view.waited_for, UnorderedElementsAre("b", "c"));
  EXPECT_EQ(view.look_again, start + 6s);
  EXPECT_THAT(vanished.look({"a", "b"}, all, start + 3s).waited_for, UnorderedElementsAre("c"));
  EXPECT_THAT(vanished.look({"a", "b"}, all, start + 5999ms).waited_for, UnorderedElementsAre("c"));
  EXPECT_THAT(vanished.look({"a", "b"}, all, start + 6s).waited_for, IsEmpty());
  // Once given up it is not waited for again, until it was there.
  EXPECT_THAT(vanished.look({"a"}, all, start + 7s).waited_for, IsEmpty());
}

TEST(VanishedNodes, ANewPlannerWaitsForThoseThatThePlanNames) {
  VanishedNodes vanished(5s);
  const auto view = vanished.look({"a"}, {"a", "b", "c"}, start);
  EXPECT_THAT(view.waited_for, UnorderedElementsAre("b", "c"));
  EXPECT_EQ(view.look_again, start + 5s);
}

TEST(VanishedNodes, ThoseThatVanishSoonAfterBelongToThem) {
  VanishedNodes vanished(5s);
  const Names all{"a", "b", "c", "d", "e"};
  vanished.look(all, all, start);
  EXPECT_THAT(vanished.look({"a", "b", "c", "d"}, all, start).waited_for, IsEmpty());
  EXPECT_THAT(vanished.look({"a", "b", "c"}, all, start + 1s).waited_for, IsEmpty());
  EXPECT_THAT(vanished.look({"a", "b"}, all, start + 2s).waited_for, UnorderedElementsAre("c", "d", "e"));
}

// The leases of nodes that are cut off together end one after the other, within a third of a lease.
TEST(VanishedNodes, SeveralMayBeTheFirstOfMost) {
  VanishedNodes vanished(5s);
  Names all;
  for (char name = 'a'; name <= 'j'; ++name) all.emplace(1, name);
  vanished.look(all, all, start);
  Names present = all;
  for (const char* gone : {"a", "b", "c"}) present.erase(gone);
  const auto view = vanished.look(present, all, start + 1s);
  EXPECT_THAT(view.waited_for, UnorderedElementsAre("a", "b", "c"));
  EXPECT_EQ(view.look_again, start + 2250ms);
  EXPECT_THAT(vanished.look(present, all, start + 2250ms).waited_for, IsEmpty()) << "they were not";
  VanishedNodes most(5s);
  most.look(all, all, start);
  most.look(present, all, start + 1s);
  for (const char* gone : {"d", "e", "f"}) present.erase(gone);
  EXPECT_THAT(most.look(present, all, start + 2s).waited_for, SizeIs(6));
  EXPECT_THAT(most.look(present, all, start + 5900ms).waited_for, SizeIs(6));
}

TEST(StartPacer, StartsAFewAtATime) {
  StartPacer pacer(1);
  std::vector<std::string> waiting;
  for (int i = 0; i < 30; ++i) waiting.push_back("c" + std::to_string(i));
  std::set<std::string> started;
  std::size_t starting = 0;
  Clock::time_point now = start;
  std::set<Clock::duration> moments;
  for (int steps = 0; !waiting.empty(); ++steps) {
    ASSERT_LT(steps, 1000);
    const auto due = pacer.look(waiting, starting, now);
    for (const std::string& camera : due.start) {
      EXPECT_TRUE(started.insert(camera).second);
      std::erase(waiting, camera);
      moments.insert(now - start);
    }
    starting += due.start.size();
    ASSERT_LE(starting, StartPacer::at_once);
    if (due.look_again) {
      now = *due.look_again;
    } else if (starting > 0) {
      --starting;  // one delivers frames
    }
  }
  EXPECT_THAT(started, SizeIs(30));
  EXPECT_GT(moments.size(), 4U) << "not all in the same moments";
  EXPECT_LE(now - start, StartPacer::longest_delay) << "nobody waits for longer than for a place and its moment";
}

TEST(StartPacer, ImportantCamerasGoFirst) {
  StartPacer pacer(1);
  const std::vector<std::string> waiting{"a", "b", "c"};
  EXPECT_THAT(pacer.look(waiting, StartPacer::at_once, start).start, IsEmpty());
  const auto due = pacer.look(waiting, StartPacer::at_once - 1, start + StartPacer::longest_delay);
  EXPECT_THAT(due.start, ElementsAre("a"));
  EXPECT_THAT(pacer.look(waiting, StartPacer::at_once, start + 1h).start, IsEmpty());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
