// Nodes of a cluster with a real etcd: joining, leaving, dying, a name that is taken, and who plans.
#include "app/cluster/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/cluster/election.h"
#include "tests/integration/etcd_members.h"
#include "tests/unit/cpu_waits.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::EtcdMembers;
using test::wait_for;
using testing::HasSubstr;
using Stage = MembershipState::Stage;

const ClusterKeys keys("test");

class MembershipTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
  }
};

NodeOffer offer_of(const std::string& node) {
  NodeOffer offer{node, new_instance(), "10.0.0.1:8443", "1"};
  offer.capacity = {{"cores", 4}};
  return offer;
}

std::unique_ptr<Membership> join(const EtcdServers& servers, const std::string& node, std::chrono::seconds ttl = 2s) {
  return std::make_unique<Membership>(Membership::Options{servers, keys, ttl}, offer_of(node));
}

bool becomes(Membership& of, Stage stage) {
  return wait_for([&] { return of.state().stage == stage; });
}

std::optional<NodeOffer> stored_offer(EtcdClient& client, const std::string& node) {
  const auto read = client.read(keys.node(node));
  if (!read || read->values.empty()) return std::nullopt;
  return read_offer(node, read->values[0].value);
}

std::optional<ElectedPlanner> planner_in(EtcdClient& client) {
  auto all = client.read_prefix(keys.prefix());
  if (!all) return std::nullopt;
  EtcdNews news{true, {}, all->header.revision};
  for (EtcdKeyValue& value : all->values) news.events.push_back({false, std::move(value)});
  EtcdMirror mirror;
  mirror.apply(news);
  return elected_planner(mirror, keys);
}

TEST_F(MembershipTest, OffersAsLongAsItIsThere) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  auto node = join(etcd.servers(), "a");
  ASSERT_TRUE(becomes(*node, Stage::member)) << node->state().problem;
  EXPECT_EQ(stored_offer(client, "a")->capacity.at("cores"), 4);
  EXPECT_GT(node->state().effects_end, Clock::now());

  const std::int64_t lease = node->state().lease;
  const auto begun = Clock::now();
  ASSERT_TRUE(wait_for([&] { return node->state().effects_end > begun + 4s; })) << "it is not kept alive";
  EXPECT_EQ(node->state().lease, lease);

  NodeOffer more = *stored_offer(client, "a");
  more.capacity["cores"] = 8;
  node->set_offer(more);
  EXPECT_TRUE(wait_for([&] { return stored_offer(client, "a")->capacity.at("cores") == 8; }));

  node = join(etcd.servers(), "b", 1h);
  ASSERT_TRUE(becomes(*node, Stage::member)) << node->state().problem;
  node.reset();
  EXPECT_FALSE(stored_offer(client, "b")) << "who leaves does not make others wait for its lease";
}

TEST_F(MembershipTest, ASecondStartUnderItsNameIsRefused) {
  EtcdMembers etcd(1);
  auto first = join(etcd.servers(), "a");
  ASSERT_TRUE(becomes(*first, Stage::member));
  const std::int64_t lease = first->state().lease;
  auto second = join(etcd.servers(), "a");
  ASSERT_TRUE(becomes(*second, Stage::name_taken));
  EXPECT_THAT(second->state().problem, HasSubstr("another campipe runs as node 'a' of this cluster, at 10.0.0.1:8443"));
  EXPECT_THAT(second->state().problem, HasSubstr("cluster.node"));
  EXPECT_EQ(first->state().stage, Stage::member);
  EXPECT_EQ(first->state().lease, lease);
  first.reset();
  EXPECT_TRUE(becomes(*second, Stage::member)) << "it may run once the other is gone";
}

// Without a lease it stays for ever, where somebody has put it back, for example.
TEST_F(MembershipTest, WhatIsLeftOfACandidacyIsInNobodysWay) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  ASSERT_TRUE(client.put(keys.planner("a"), "{}"));
  ASSERT_TRUE(client.put(keys.planner("gone"), "{}"));
  EXPECT_FALSE(planner_in(client));
  auto node = join(etcd.servers(), "a");
  ASSERT_TRUE(becomes(*node, Stage::member)) << node->state().problem;
  const auto planner = planner_in(client);
  ASSERT_TRUE(planner);
  EXPECT_EQ(planner->node, "a");
  EXPECT_EQ(planner->candidacy, node->state().candidacy);
}

TEST_F(MembershipTest, WhatIsLeftOfAnOfferIsInNobodysWay) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  ASSERT_TRUE(client.put(keys.node("a"), write_offer(offer_of("a"))));
  auto node = join(etcd.servers(), "a");
  EXPECT_TRUE(becomes(*node, Stage::member)) << node->state().problem;
}

// A process that was killed, as etcd sees it: nobody keeps its lease.
TEST_F(MembershipTest, WhoWasKilledIsFollowedByTheSameName) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  const auto lease = client.grant(3s);
  ASSERT_TRUE(client.txn({{},
                          {EtcdOperation::put(keys.node("a"), write_offer(offer_of("a")), lease->id),
                           EtcdOperation::put(keys.planner("a"), "{}", lease->id)}}));
  auto node = join(etcd.servers(), "a", 3s);
  EXPECT_TRUE(wait_for([&] {
    const Stage stage = node->state().stage;
    EXPECT_NE(stage, Stage::name_taken);
    return stage == Stage::member;
  }));
}

TEST_F(MembershipTest, TheFirstOnePlansAndItsDeathElectsTheNext) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  auto a = join(etcd.servers(), "a");
  ASSERT_TRUE(becomes(*a, Stage::member));
  auto b = join(etcd.servers(), "b");
  ASSERT_TRUE(becomes(*b, Stage::member));
  ASSERT_TRUE(planner_in(client));
  EXPECT_EQ(planner_in(client)->node, "a");
  EXPECT_EQ(planner_in(client)->candidacy, a->state().candidacy);

  const Candidacy old = a->state().candidacy;
  const EtcdTxn fenced{{old.holds()}, {EtcdOperation::put(keys.plan(), "a's")}};
  EXPECT_TRUE(client.txn(fenced)->succeeded);
  a.reset();
  ASSERT_TRUE(wait_for([&] { return planner_in(client) && planner_in(client)->node == "b"; }));
  EXPECT_FALSE(client.txn(fenced)->succeeded) << "who does not plan any more changes nothing";
  // Also under the same name, since it is another candidacy.
  a = join(etcd.servers(), "a");
  ASSERT_TRUE(becomes(*a, Stage::member));
  EXPECT_FALSE(client.txn(fenced)->succeeded);
  EXPECT_EQ(planner_in(client)->node, "b") << "who comes back waits behind the others";
}

TEST_F(MembershipTest, AwayFromEtcdItsEffectsEndAndItJoinsAnew) {
  EtcdMembers etcd(1);
  auto node = join(etcd.servers(), "a");
  ASSERT_TRUE(becomes(*node, Stage::member));
  const std::int64_t lease = node->state().lease;
  etcd.stop(0);
  const auto stopped = Clock::now();
  ASSERT_TRUE(wait_for([&] { return node->state().effects_end < Clock::now(); }));
  EXPECT_LE(node->state().effects_end, stopped + 2s);
  EXPECT_EQ(node->state().stage, Stage::member) << "only etcd can say that the lease is dead";
  EXPECT_TRUE(wait_for([&] { return !node->state().problem.empty(); }));
  etcd.resume(0);
  EXPECT_TRUE(wait_for([&] {
    const MembershipState state = node->state();
    return state.stage == Stage::member && state.effects_end > Clock::now() && state.problem.empty();
  }));
  // By the old lease, if etcd gave it its time again, or by another.
  EtcdClient client(etcd.servers());
  EXPECT_TRUE(stored_offer(client, "a"));
  EXPECT_NE(lease, 0);
}

TEST_F(MembershipTest, ALeaseThatIsDeadIsReplaced) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  auto node = join(etcd.servers(), "a");
  ASSERT_TRUE(becomes(*node, Stage::member));
  const std::int64_t lease = node->state().lease;
  ASSERT_TRUE(*client.revoke(lease));
  EXPECT_TRUE(wait_for([&] {
    const MembershipState state = node->state();
    return state.stage == Stage::member && state.lease != lease;
  }));
  EXPECT_TRUE(stored_offer(client, "a"));
}

TEST_F(MembershipTest, AMemberOfEtcdThatDiesCostsNoLease) {
  EtcdMembers etcd(3);
  auto node = join(etcd.servers(), "a", 5s);
  ASSERT_TRUE(becomes(*node, Stage::member));
  const std::int64_t lease = node->state().lease;
  for (const bool killed : {true, false}) {
    const int member = etcd.leader();
    if (killed) etcd.kill(member);
    if (!killed) etcd.stop(member);
    const auto begun = Clock::now();
    EXPECT_TRUE(wait_for([&] { return node->state().effects_end > begun + 5s; }));
    EXPECT_EQ(node->state().lease, lease);
    if (killed) etcd.start(member);
    if (!killed) etcd.resume(member);
    etcd.leader();
  }
}

TEST_F(MembershipTest, AFullEtcdIsNamedAndJoinedOnceThereIsRoom) {
  EtcdMembers etcd({.arguments = {"--quota-backend-bytes", "200000"}});
  EtcdClient client(etcd.servers());
  ASSERT_TRUE(wait_for([&] { return !client.put("x", std::string(50'000, 'x')); }));
  ASSERT_TRUE(wait_for([&] { return *client.no_space(); }));
  auto node = join(etcd.servers(), "a");
  ASSERT_TRUE(wait_for([&] { return node->state().problem.find("NOSPACE") != std::string::npos; }));
  EXPECT_THAT(node->state().problem, HasSubstr("disarm the alarm"));
  EXPECT_EQ(node->state().stage, Stage::joining);

  const auto now = client.read("x");
  ASSERT_TRUE(now);
  const std::string revision = std::to_string(now->header.revision);
  ASSERT_TRUE(etcd.post(etcd.only(0), "/v3/kv/compaction", R"({"revision":")" + revision + R"(","physical":true})"));
  ASSERT_TRUE(etcd.post(etcd.only(0), "/v3/maintenance/defragment", "{}"));
  const auto alarms = etcd.post(etcd.only(0), "/v3/maintenance/alarm", R"({"action":"GET"})");
  ASSERT_TRUE(alarms);
  auto disarm = nlohmann::json::parse(*alarms).at("alarms").at(0);
  disarm["action"] = "DEACTIVATE";
  ASSERT_TRUE(etcd.post(etcd.only(0), "/v3/maintenance/alarm", disarm.dump()));
  EXPECT_TRUE(becomes(*node, Stage::member)) << node->state().problem;
}

TEST_F(MembershipTest, EndsSoonWhereNobodyAnswers) {
  test::Server silent(test::stay_silent);
  const auto end = [&] {
    const int before = silent.connections();
    auto node = join({{"http://127.0.0.1:" + std::to_string(silent.port())}}, "a");
    EXPECT_TRUE(wait_for([&] { return silent.connections() > before; }));
    const auto begun = Clock::now();
    node.reset();
    return Clock::now() - begun;
  };
  EXPECT_LT(test::quickest(end), 1s) << "a request has two seconds";
}

// A process that died, and its successor: the node was there all the time.
TEST_F(MembershipTest, ASuccessorGoesOnUnderTheSameLease) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  const NodeOffer offer = offer_of("a");
  const auto lease = client.grant(5s);
  ASSERT_TRUE(lease);
  const auto before = client.txn({{},
                                  {EtcdOperation::put(keys.node("a"), write_offer(offer), lease->id),
                                   EtcdOperation::put(keys.planner("a"), R"({"schema":1})", lease->id)}});
  ASSERT_TRUE(before);
  NodeOffer newer = offer;
  newer.capacity = {{"cores", 8}};
  Membership successor({etcd.servers(), keys, 5s}, newer);
  ASSERT_TRUE(becomes(successor, Stage::member));
  EXPECT_EQ(successor.state().lease, lease->id);
  EXPECT_EQ(successor.state().candidacy, (Candidacy{keys.planner("a"), before->header.revision}));
  EXPECT_TRUE(wait_for([&] {
    const auto now = client.read(keys.node("a"));
    return now && now->values.size() == 1 && now->values[0].create_revision == before->header.revision &&
           read_offer("a", now->values[0].value)->capacity == newer.capacity;
  })) << "it offers what it has";
}

// Of a node that drained itself, which has withdrawn its candidacy.
TEST_F(MembershipTest, ASuccessorTakesOverAnOfferWithoutACandidacy) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  NodeOffer offer = offer_of("a");
  offer.draining = true;
  const auto lease = client.grant(5s);
  ASSERT_TRUE(lease);
  ASSERT_TRUE(client.txn({{}, {EtcdOperation::put(keys.node("a"), write_offer(offer), lease->id)}}));
  Membership successor({etcd.servers(), keys, 5s}, offer);
  ASSERT_TRUE(becomes(successor, Stage::member));
  EXPECT_EQ(successor.state().lease, lease->id);
  EXPECT_EQ(successor.state().candidacy.create_revision, 0);
  EXPECT_TRUE(client.read(keys.planner("a"))->values.empty());
  offer.draining = false;
  successor.set_offer(offer);
  EXPECT_TRUE(wait_for([&] { return successor.state().candidacy.create_revision != 0; }));
  EXPECT_FALSE(stored_offer(client, "a")->draining);
}

TEST_F(MembershipTest, WhoDrainsItselfFromTheBeginningDoesNotPlan) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  NodeOffer offer = offer_of("a");
  offer.draining = true;
  Membership a({etcd.servers(), keys, 5s}, offer);
  ASSERT_TRUE(becomes(a, Stage::member));
  EXPECT_TRUE(wait_for([&] { return a.state().candidacy.create_revision == 0; }));
  EXPECT_TRUE(client.read(keys.planner("a"))->values.empty());
}

// It cannot use the rig, say: another node plans.
TEST_F(MembershipTest, ANodeThatDrainsItselfDoesNotPlan) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  NodeOffer offer = offer_of("a");
  Membership a({etcd.servers(), keys, 5s}, offer);
  ASSERT_TRUE(becomes(a, Stage::member));
  const auto b = join(etcd.servers(), "b");
  ASSERT_TRUE(becomes(*b, Stage::member));
  const auto candidate = [&] {
    const auto found = client.read(keys.planner("a"));
    return found && !found->values.empty() ? found->values[0].create_revision : 0;
  };
  const std::int64_t first = candidate();
  ASSERT_EQ(a.state().candidacy.create_revision, first);
  offer.draining = true;
  a.set_offer(offer);
  EXPECT_TRUE(wait_for([&] { return a.state().candidacy.create_revision == 0; }));
  EXPECT_EQ(candidate(), 0);
  offer.draining = false;
  a.set_offer(offer);
  EXPECT_TRUE(wait_for([&] { return a.state().candidacy.create_revision != 0; }));
  EXPECT_EQ(a.state().candidacy.create_revision, candidate());
  EXPECT_GT(candidate(), b->state().candidacy.create_revision) << "behind those that were there meanwhile";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
