// The plan in a real etcd: seen whole or not at all, and written by the one who plans only.
#include "app/cluster/plan_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "app/cluster/duties.h"
#include "core/clock.h"
#include "tests/integration/etcd_members.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::EtcdMembers;
using test::wait_for;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Wanted = std::map<std::string, CameraAssignment>;

const ClusterKeys keys("test");

class PlanStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
    etcd_ = std::make_unique<EtcdMembers>(1);
    client_ = std::make_unique<EtcdClient>(etcd_->servers());
    watch_ = std::make_unique<EtcdWatch>(EtcdWatch::Options{etcd_->servers(), keys.prefix()});
    candidacy_ = become_planner("a");
  }

  Candidacy become_planner(const std::string& node) {
    const auto written = client_->put(keys.planner(node), "{}");
    EXPECT_TRUE(written);
    return {keys.planner(node), written->revision};
  }

  // As it is in etcd now, through a watch; and in `seen` every plan on the way there.
  StoredPlan read(std::vector<StoredPlan>* seen = nullptr) {
    const std::int64_t now = client_->read(keys.plan())->header.revision;
    client_->put(keys.prefix() + "mark", "x");
    EXPECT_TRUE(wait_for([&] {
      for (const EtcdNews& news : watch_->take()) {
        mirror_.apply(news);
        if (seen != nullptr) seen->push_back(read_plan(mirror_, keys));
      }
      return mirror_.revision() > now;
    }));
    return read_plan(mirror_, keys);
  }

  PlanWriteResult write(const StoredPlan& stored, const Wanted& wanted) {
    return write_plan(*client_, keys, candidacy_, stored, wanted);
  }

  static std::uint64_t utc_seconds() { return static_cast<std::uint64_t>(utc_now_ns() / 1'000'000'000); }

  static Wanted cameras(int count, const std::string& node) {
    Wanted wanted;
    for (int i = 0; i < count; ++i) wanted["c" + std::to_string(1000 + i)] = {.node = node};
    return wanted;
  }

  std::unique_ptr<EtcdMembers> etcd_;
  std::unique_ptr<EtcdClient> client_;
  std::unique_ptr<EtcdWatch> watch_;
  EtcdMirror mirror_;
  Candidacy candidacy_;
};

TEST_F(PlanStoreTest, IsReadAsItWasWritten) {
  EXPECT_EQ(read().generation, 0U);
  Wanted wanted = cameras(3, "a");
  wanted["c1001"] = {.node = "", .home = "b", .reason = "no node has room for it"};
  ASSERT_EQ(write(read(), wanted).outcome, PlanWritten::done);
  const StoredPlan plan = read();
  EXPECT_EQ(plan.generation, 1U);
  ASSERT_THAT(plan.cameras, SizeIs(3));
  EXPECT_EQ(plan.cameras.at("c1000").assignment.node, "a");
  EXPECT_EQ(plan.cameras.at("c1001").assignment.home, "b");
  EXPECT_EQ(plan.cameras.at("c1001").assignment.reason, "no node has room for it");
}

TEST_F(PlanStoreTest, ASmallChangeTouchesWhatItChanges) {
  Wanted wanted = cameras(20, "a");
  ASSERT_EQ(write(read(), wanted).outcome, PlanWritten::done);
  const StoredPlan before = read();
  wanted["c1003"].node = "b";
  wanted["c1003"].from = "a";
  wanted["c1007"].reason = "it is still there, for another reason";
  wanted.erase("c1005");
  wanted["c2000"] = {.node = "c"};
  ASSERT_EQ(write(before, wanted).outcome, PlanWritten::done);
  const StoredPlan after = read();
  EXPECT_EQ(after.generation, before.generation);
  EXPECT_THAT(after.cameras, SizeIs(20));
  EXPECT_FALSE(after.cameras.contains("c1005"));
  EXPECT_EQ(after.cameras.at("c1003").assignment.from, "a");
  EXPECT_GT(after.cameras.at("c1003").fence, before.cameras.at("c1003").fence) << "another node, another fence";
  EXPECT_EQ(after.cameras.at("c1007").fence, before.cameras.at("c1007").fence) << "the same node keeps its fence";
  EXPECT_EQ(after.cameras.at("c1001").fence, before.cameras.at("c1001").fence);
  // Nothing to be done is not written.
  ASSERT_EQ(write(after, wanted).outcome, PlanWritten::done);
  EXPECT_EQ(read().revision, after.revision);
}

TEST_F(PlanStoreTest, ALargeChangeIsSeenWholeOrNotAtAll) {
  ASSERT_EQ(write(read(), cameras(1000, "a")).outcome, PlanWritten::done);
  const StoredPlan before = read();
  Wanted wanted = cameras(1000, "b");
  for (int i = 0; i < 500; ++i) wanted["c" + std::to_string(1000 + i)].node = "a";
  const auto begun = Clock::now();
  ASSERT_EQ(write(before, wanted).outcome, PlanWritten::done);
  RecordProperty("milliseconds", std::to_string((Clock::now() - begun) / 1ms));
  std::vector<StoredPlan> seen;
  const StoredPlan after = read(&seen);
  EXPECT_EQ(after.generation, before.generation + 1);
  EXPECT_THAT(after.unused, IsEmpty()) << "the old generation goes in the same step";
  EXPECT_GT(seen.size(), 2U);
  for (const StoredPlan& plan : seen) {
    ASSERT_THAT(plan.cameras, SizeIs(1000));
    for (const auto& [camera, stored] : plan.cameras) {
      ASSERT_EQ(stored.assignment.node, plan.generation == after.generation ? wanted.at(camera).node : "a");
    }
  }
  EXPECT_EQ(after.cameras.at("c1000").fence, before.cameras.at("c1000").fence) << "it has not moved";
  EXPECT_GT(after.cameras.at("c1999").fence, before.cameras.at("c1999").fence);
}

TEST_F(PlanStoreTest, WhoDoesNotPlanAnyMoreChangesNothing) {
  ASSERT_EQ(write(read(), cameras(3, "a")).outcome, PlanWritten::done);
  const StoredPlan before = read();
  ASSERT_TRUE(client_->txn({{}, {EtcdOperation::erase(candidacy_.key)}}));
  EXPECT_EQ(write(before, cameras(4, "b")).outcome, PlanWritten::not_planner);
  EXPECT_EQ(write(before, cameras(400, "b")).outcome, PlanWritten::not_planner);
  become_planner("a");  // another start of it is another planner
  EXPECT_EQ(write(before, cameras(4, "b")).outcome, PlanWritten::not_planner);
  const StoredPlan after = read();
  EXPECT_EQ(after.revision, before.revision);
  EXPECT_THAT(after.cameras, SizeIs(3));
}

TEST_F(PlanStoreTest, WhoHasNotSeenThePlanAsItIsChangesNothing) {
  ASSERT_EQ(write(read(), cameras(3, "a")).outcome, PlanWritten::done);
  const StoredPlan before = read();
  ASSERT_EQ(write(before, cameras(4, "b")).outcome, PlanWritten::done);
  EXPECT_EQ(write(before, cameras(5, "c")).outcome, PlanWritten::outdated);
  EXPECT_EQ(write(before, cameras(400, "c")).outcome, PlanWritten::outdated);
  EXPECT_THAT(read().cameras, SizeIs(4));
  EXPECT_THAT(read().unused, IsEmpty());
}

// Else its cameras have newer fences than the plan that they are in, which nodes take for an older one from then on.
TEST_F(PlanStoreTest, WhoHasNotSeenTheFirstPlanDoesNotWriteIntoIt) {
  const StoredPlan none = read();
  ASSERT_EQ(write(none, cameras(3, "a")).outcome, PlanWritten::done);
  const StoredPlan before = read();
  EXPECT_EQ(write(none, cameras(4, "b")).outcome, PlanWritten::outdated);
  const StoredPlan after = read();
  ASSERT_THAT(after.cameras, SizeIs(3));
  for (const auto& [camera, stored] : after.cameras) {
    EXPECT_EQ(stored.assignment.node, "a");
    EXPECT_EQ(stored.fence, before.cameras.at(camera).fence);
    EXPECT_LE(stored.fence.revision, after.revision);
  }
}

TEST_F(PlanStoreTest, WhatAnAttemptLeftIsClearedAwayAndIsNoPartOfTheNextGeneration) {
  ASSERT_EQ(write(read(), cameras(3, "a")).outcome, PlanWritten::done);
  ASSERT_TRUE(client_->put(keys.generation(2) + "c9999", R"({"schema":1,"node":"a","epoch":1})"));
  EXPECT_THAT(read().unused, SizeIs(1));
  ASSERT_EQ(write(read(), cameras(200, "d")).outcome, PlanWritten::done);
  const StoredPlan after = read();
  EXPECT_THAT(after.cameras, SizeIs(200));
  EXPECT_THAT(after.unused, IsEmpty());
}

TEST_F(PlanStoreTest, KeepsWhatANewerVersionHasAdded) {
  ASSERT_EQ(write(read(), cameras(2, "a")).outcome, PlanWritten::done);
  ASSERT_TRUE(client_->put(keys.generation(1) + "c1000", R"({"schema":1,"node":"a","epoch":1,"shade":"blue"})"));
  ASSERT_TRUE(client_->put(keys.plan(), R"({"schema":1,"generation":1,"epoch":1,"tone":7})"));
  ASSERT_EQ(write(read(), cameras(2, "b")).outcome, PlanWritten::done);
  EXPECT_EQ(read().cameras.at("c1000").assignment.other.at("shade"), "blue");
  ASSERT_EQ(write(read(), cameras(300, "c")).outcome, PlanWritten::done);
  EXPECT_EQ(read().cameras.at("c1000").assignment.other.at("shade"), "blue");
  EXPECT_EQ(read().other.at("tone"), 7);
}

TEST_F(PlanStoreTest, WhatItCannotReadItDoesNotChange) {
  ASSERT_EQ(write(read(), cameras(2, "a")).outcome, PlanWritten::done);
  ASSERT_TRUE(client_->put(keys.generation(1) + "c1000", R"({"schema":2,"places":["a","b"]})"));
  const PlanWriteResult result = write(read(), cameras(2, "b"));
  EXPECT_EQ(result.outcome, PlanWritten::failed);
  EXPECT_THAT(result.message, HasSubstr("Upgrade this node"));
  EXPECT_EQ(client_->read(keys.generation(1) + "c1000")->values.at(0).value, R"({"schema":2,"places":["a","b"]})");
}

TEST_F(PlanStoreTest, ARaisedEpochIsAboveAllFences) {
  ASSERT_EQ(write(read(), cameras(3, "a")).outcome, PlanWritten::done);
  const StoredPlan before = read();
  FenceGuard guard;
  ASSERT_TRUE(guard.accept("c1000", {before.epoch, 1'000'000})) << "of a history that the backup does not have";
  EXPECT_FALSE(guard.accept("c1000", before.cameras.at("c1000").fence));
  const std::uint64_t now = utc_seconds();
  ASSERT_EQ(raise_epoch(*client_, keys, before, now).outcome, PlanWritten::done);
  EXPECT_EQ(raise_epoch(*client_, keys, before, now).outcome, PlanWritten::outdated);
  ASSERT_EQ(write(read(), cameras(3, "a")).outcome, PlanWritten::done);
  const StoredPlan after = read();
  EXPECT_EQ(after.epoch, now);
  EXPECT_TRUE(guard.accept("c1000", after.cameras.at("c1000").fence));
}

// Nothing could be above it: nodes do not obey it, and what raises epochs raises no such one.
TEST_F(PlanStoreTest, AnEpochThatCannotBeIsObeyedByNobodyAndCanBeMended) {
  ASSERT_EQ(write(read(), cameras(3, "a")).outcome, PlanWritten::done);
  DutyKeeper node("a");
  ASSERT_THAT(node.update(read(), mirror_, keys), SizeIs(3));
  ASSERT_TRUE(client_->put(keys.plan(), R"({"schema":1,"generation":1,"epoch":18446744073709551615})"));
  const StoredPlan bad = read();
  EXPECT_THAT(node.update(bad, mirror_, keys), SizeIs(3)) << "it goes on as it is";
  EXPECT_TRUE(node.plan_is_older());
  EXPECT_THAT(write(bad, cameras(3, "b")).message, HasSubstr("cluster apply --restored"));
  ASSERT_EQ(raise_epoch(*client_, keys, bad, utc_seconds()).outcome, PlanWritten::done);
  ASSERT_EQ(write(read(), cameras(3, "b")).outcome, PlanWritten::done);
  const StoredPlan after = read();
  EXPECT_LE(after.epoch, utc_seconds());
  DutyKeeper other("b");
  EXPECT_THAT(other.update(after, mirror_, keys), SizeIs(3));
  node.update(after, mirror_, keys);
  EXPECT_FALSE(node.plan_is_older());
  EXPECT_THAT(node.refused(), IsEmpty());
}

TEST_F(PlanStoreTest, AnAssignmentThatIsNoneIsReplacedByTheNextPlan) {
  ASSERT_EQ(write(read(), cameras(4, "a")).outcome, PlanWritten::done);
  DutyKeeper node("a");
  const NodeDuties before = node.update(read(), mirror_, keys);
  const std::string folder = keys.generation(1);
  ASSERT_TRUE(client_->put(folder + "c1000", R"({"schema":1,"node":"b","epoch":18446744073709551615})"));
  ASSERT_TRUE(client_->put(folder + "c1001", "no JSON"));
  ASSERT_TRUE(client_->put(folder + "c1002",
                           R"({"schema":1,"node":"b","epoch":1,"reason":")" + std::string(50'000, 'x') + "\"}"));
  ASSERT_TRUE(client_->put(folder + "gone", "of no camera of the rig"));
  EXPECT_EQ(node.update(read(), mirror_, keys), before) << "nobody obeys them";
  ASSERT_EQ(write(read(), cameras(4, "b")).outcome, PlanWritten::done);
  const StoredPlan after = read();
  DutyKeeper other("b");
  EXPECT_THAT(other.update(after, mirror_, keys), SizeIs(4));
  EXPECT_THAT(after.damaged, IsEmpty());
}

TEST_F(PlanStoreTest, APlanThatIsNoneIsMadeAnewWhereSomebodySaysSo) {
  ASSERT_EQ(write(read(), cameras(3, "a")).outcome, PlanWritten::done);
  DutyKeeper node("a");
  const NodeDuties before = node.update(read(), mirror_, keys);
  for (const std::string& value : {std::string("{"), std::string(R"({"schema":1,"generation":"x","epoch":1})"),
                                   std::string(R"({"schema":1,"generation":18446744073709551615,"epoch":1})")}) {
    ASSERT_TRUE(client_->put(keys.plan(), value));
    EXPECT_EQ(node.update(read(), mirror_, keys), before) << value;
    EXPECT_TRUE(node.plan_is_older()) << value;
    EXPECT_THAT(write(read(), cameras(3, "b")).message, HasSubstr("cluster apply --restored")) << value;
    ASSERT_EQ(raise_epoch(*client_, keys, read(), utc_seconds()).outcome, PlanWritten::done) << value;
    ASSERT_EQ(write(read(), cameras(3, "b")).outcome, PlanWritten::done) << value;
    DutyKeeper other("b");
    EXPECT_THAT(other.update(read(), mirror_, keys), SizeIs(3)) << value;
  }
}

// Of a generation that nobody has written, and nobody can write the next one of.
TEST_F(PlanStoreTest, KeysOfGenerationsThatCannotBeAreInNobodysWay) {
  for (const char* number : {"4611686018427387904", "4611686018427387903", "18446744073709551615", "2", "007"})
    ASSERT_TRUE(client_->put(keys.plans() + number + "/c1000", "{}"));
  for (const char* node : {"a", "b", "a"}) {
    ASSERT_EQ(write(read(), cameras(200, node)).outcome, PlanWritten::done);
    EXPECT_THAT(read().cameras, SizeIs(200));
    EXPECT_LT(read().generation, 10U);
  }
}

TEST_F(PlanStoreTest, AFullEtcdSaysWhatToDo) {
  watch_.reset();
  etcd_ = std::make_unique<EtcdMembers>(EtcdMembers::Options{.arguments = {"--quota-backend-bytes", "200000"}});
  client_ = std::make_unique<EtcdClient>(etcd_->servers());
  candidacy_ = become_planner("a");
  ASSERT_TRUE(wait_for([&] { return !client_->put("x", std::string(50'000, 'x')); }));
  const PlanWriteResult result = write({}, cameras(2, "b"));
  EXPECT_EQ(result.outcome, PlanWritten::failed);
  EXPECT_THAT(result.message, HasSubstr("disarm the alarm"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
