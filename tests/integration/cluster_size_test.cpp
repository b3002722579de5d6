// The size that is promised: 1,000 cameras over 50 nodes, with a real etcd of three members. Nodes are memberships and
// watches, without cameras; the planner is the real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <sstream>

#include "app/cluster/cluster_planner.h"
#include "app/cluster/duties.h"
#include "app/cluster/election.h"
#include "tests/integration/etcd_members.h"
#include "tests/unit/cpu_waits.h"
#include "tests/unit/sanitized.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::EtcdMembers;
using test::wait_for;

const ClusterKeys keys("test");
constexpr int nodes = 50;
constexpr int cameras = 1000;
constexpr auto lease = 15s;  // of fifty nodes in one process: the shortest one lapses where the machine is busy

struct SimulatedNode {
  SimulatedNode(const EtcdServers& servers, const std::string& called)
      : name(called), watch({servers, keys.prefix()}), keeper(called) {
    NodeOffer offer{name, new_instance(), "10.0.0.1:8443", "1"};
    offer.capacity = {{"cores", 12}};
    membership = std::make_unique<Membership>(Membership::Options{servers, keys, lease}, std::move(offer));
  }
  void look() {
    for (const EtcdNews& news : watch.take()) mirror.apply(news);
    plan = read_plan(mirror, keys);
    duties = keeper.update(plan, mirror, keys);
  }

  std::string name;
  EtcdWatch watch;
  std::unique_ptr<Membership> membership;
  EtcdMirror mirror;
  StoredPlan plan;
  DutyKeeper keeper;
  NodeDuties duties;
};

class ClusterSizeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
    etcd_ = std::make_unique<EtcdMembers>(3);
    for (int i = 0; i < nodes; ++i) {
      const std::string name = "n" + std::to_string(100 + i);
      all_[name] = std::make_unique<SimulatedNode>(etcd_->servers(), name);
    }
    for (int i = 0; i < cameras; ++i) {
      cameras_.push_back({"c" + std::to_string(10'000 + i), i % 101, {{{"cores", 0.5}}}});
    }
    client_ = std::make_unique<EtcdClient>(etcd_->servers());
    ASSERT_TRUE(wait_for(
        [&] {
          return std::ranges::all_of(all_, [](const auto& node) {
            return node.second->membership->state().stage == MembershipState::Stage::member;
          });
        },
        60s));
  }

  // As the elected node does: until the plan is as decided. Returns the CPU time of the last round.
  std::chrono::nanoseconds plan_as_elected(ClusterPlanner& planner) {
    std::chrono::nanoseconds took{};
    EXPECT_TRUE(wait_for(
        [&] {
          SimulatedNode& any = *all_.begin()->second;
          any.look();
          const auto elected = elected_planner(any.mirror, keys);
          if (!elected) return false;
          const auto begun = test::thread_cpu_time();
          const auto decision = planner.decide(any.mirror, keys, any.plan, cameras_, Clock::now());
          const PlanWriteResult written = write_plan(*client_, keys, elected->candidacy, any.plan, decision.wanted);
          took = test::thread_cpu_time() - begun;
          return written.outcome == PlanWritten::done && decision.waited_for.empty();
        },
        60s));
    return took;
  }

  // Each camera is on exactly one node, and all nodes have seen it.
  bool all_agree() {
    std::size_t sum = 0;
    std::set<std::string> seen;
    for (auto& [name, node] : all_) {
      node->look();
      sum += node->duties.size();
      for (const auto& [camera, duty] : node->duties) seen.insert(camera);
    }
    return sum == cameras && seen.size() == cameras;
  }

  // Of all members, since they run.
  double requests_to_etcd() const {
    double all = 0;
    for (int member = 0; member < etcd_->count(); ++member) {
      std::istringstream metrics(etcd_->post(etcd_->only(member), "/metrics", "").value_or(""));
      for (std::string line; std::getline(metrics, line);) {
        if (line.starts_with("grpc_server_started_total{")) all += std::stod(line.substr(line.rfind(' ')));
      }
    }
    return all;
  }

  std::unique_ptr<EtcdMembers> etcd_;
  std::unique_ptr<EtcdClient> client_;
  std::vector<ClusterCamera> cameras_;
  std::map<std::string, std::unique_ptr<SimulatedNode>> all_;
};

TEST_F(ClusterSizeTest, AThousandCamerasOverFiftyNodes) {
  ClusterPlanner planner(5s);
  const auto first = plan_as_elected(planner);
  EXPECT_LT(first, 2s * test::sanitizer_slowdown);
  RecordProperty("first_plan_ms", std::to_string(first / 1ms));
  // A node whose lease lapsed when that was planned may have nothing for good.
  ASSERT_TRUE(wait_for(
      [&] {
        plan_as_elected(planner);
        return all_agree();
      },
      60s));

  // One dies: its cameras move, and no others.
  std::map<std::string, NodeDuties> before;
  for (const auto& [name, node] : all_) before[name] = node->duties;
  const std::string dead =
      std::ranges::max_element(before, {}, [](const auto& node) { return node.second.size(); })->first;
  const std::size_t orphans = before.at(dead).size();
  ASSERT_GT(orphans, 0U);
  all_.erase(dead);
  const auto died = Clock::now();
  ASSERT_TRUE(wait_for([&] {
    plan_as_elected(planner);
    return all_agree();
  }));
  RecordProperty("moved_ms", std::to_string((Clock::now() - died) / 1ms));
  std::size_t moved = 0;
  for (const auto& [name, node] : all_) {
    for (const auto& [camera, duty] : before.at(name)) {
      ASSERT_TRUE(node->duties.contains(camera)) << camera << " left " << name;
      EXPECT_EQ(node->duties.at(camera).fence, duty.fence);
    }
    moved += node->duties.size() - before.at(name).size();
  }
  EXPECT_EQ(moved, orphans);

  // At rest.
  const double so_far = requests_to_etcd();
  const auto resting = Clock::now();
  ASSERT_TRUE(wait_for([&] { return Clock::now() > resting + 12s; }));
  const double seconds = std::chrono::duration<double>(Clock::now() - resting).count();
  const double rate = (requests_to_etcd() - so_far) / seconds / static_cast<double>(all_.size());
  EXPECT_GT(rate, 0.1) << "keep-alives are counted";
  EXPECT_LT(rate, 2) << "requests a second a node";
  RecordProperty("requests_per_second_and_node", std::to_string(rate));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
