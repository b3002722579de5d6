// Nodes in processes of their own and a real etcd: who runs what when nodes and members are killed, stopped and come
// back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>

#include "app/cluster/agent.h"
#include "tests/integration/etcd_members.h"
#include "tests/paths.h"
#include "tests/unit/cpu_waits.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::EtcdMembers;
using test::wait_for;
using Names = std::set<std::string>;

const ClusterKeys keys("test");
constexpr int cameras = 9;
constexpr std::array nodes{"a", "b", "c"};
constexpr auto ttl = 3s;

// A moment at which a node ran a camera.
struct Tick {
  std::int64_t when = 0;
  char kind = 0;
  std::string camera;
  Fence fence;
  std::string node;
};

class ClusterAgentTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
  }

  void start(int members) {
    etcd_ = std::make_unique<EtcdMembers>(members);
    for (const char* node : nodes) start_node(node);
    ASSERT_TRUE(wait_for([&] { return is_even(ticks_from_now()); }, 60s));
  }
  // Each node has a third of the cameras, with effects.
  static bool is_even(const std::vector<Tick>& all) {
    return std::ranges::all_of(
        nodes, [&](const char* node) { return cameras_of(all, 'e', node).size() == cameras / std::size(nodes); });
  }

  void start_node(const std::string& node) {
    std::vector<std::string> arguments{test::cluster_peer_program, node, log_of(node), std::to_string(ttl.count()),
                                       std::to_string(cameras),    "3"};
    for (const std::string& url : etcd_->servers().urls) arguments.push_back(url);
    nodes_[node] = std::make_unique<test::Program>(arguments);
  }
  std::string log_of(const std::string& node) const { return (folder_.path() / node).string(); }

  std::vector<Tick> ticks(std::int64_t since = 0) const {
    std::vector<Tick> all;
    for (const char* node : nodes) {
      std::ifstream log(log_of(node));
      Tick tick;
      tick.node = node;
      for (std::string line; std::getline(log, line) && !log.eof();) {  // the last one may not be whole yet
        std::istringstream(line) >> tick.when >> tick.kind >> tick.camera >> tick.fence.epoch >> tick.fence.revision;
        if (tick.when >= since) all.push_back(tick);
      }
    }
    std::ranges::sort(all, {}, &Tick::when);
    return all;
  }

  static Names cameras_of(const std::vector<Tick>& all, char kind, const std::string& node = "") {
    Names names;
    for (const Tick& tick : all) {
      if (tick.kind == kind && (node.empty() || tick.node == node)) names.insert(tick.camera);
    }
    return names;
  }
  // Of a time from now on in which each camera had an effect.
  std::vector<Tick> ticks_from_now() const {
    const std::int64_t begin = now_ns();
    std::vector<Tick> all;
    EXPECT_TRUE(wait_for([&] { return cameras_of(all = ticks(begin), 'e').size() == cameras; }, 60s))
        << "of the cameras have effects: " << cameras_of(all, 'e').size();
    return all;
  }

  // What must not happen twice did not: with the next node's first effect, the one before had its last.
  void expect_fenced() const {
    std::map<std::string, Tick> last;
    for (const Tick& tick : ticks()) {
      if (tick.kind != 'e') continue;
      const auto [known, is_first] = last.try_emplace(tick.camera, tick);
      if (!is_first) {
        ASSERT_GE(tick.fence, known->second.fence) << tick.camera << " on " << tick.node;
        ASSERT_TRUE(tick.node == known->second.node || tick.fence > known->second.fence) << tick.camera;
      }
      known->second = tick;
    }
  }

  // The cameras of one node come back elsewhere.
  void expect_back_elsewhere(const std::string& gone, const Names& orphans, Clock::time_point since,
                             Clock::duration within) {
    std::vector<pid_t> processes{::getpid()};
    for (const auto& [name, program] : nodes_) {
      if (program) processes.push_back(program->pid());
    }
    for (const pid_t member : etcd_->pids()) processes.push_back(member);
    const test::CpuWaits waits(processes);
    ASSERT_TRUE(wait_for([&] {
      Names elsewhere;
      for (const Tick& tick : ticks(to_ns(since))) {
        if (tick.kind == 'e' && tick.node != gone && orphans.contains(tick.camera)) elsewhere.insert(tick.camera);
      }
      return elsewhere == orphans;
    }));
    EXPECT_LT(Clock::now() - since, within + waits.so_far());
  }

  std::string planner() {
    EtcdClient client(etcd_->servers());
    auto all = client.read_prefix(keys.prefix());
    if (!all) return {};
    EtcdNews news{true, {}, all->header.revision};
    for (EtcdKeyValue& value : all->values) news.events.push_back({false, std::move(value)});
    EtcdMirror mirror;
    mirror.apply(news);
    const auto elected = elected_planner(mirror, keys);
    return elected ? elected->node : "";
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<EtcdMembers> etcd_;
  std::map<std::string, std::unique_ptr<test::Program>> nodes_;
};

TEST_F(ClusterAgentTest, AKilledPlannersCamerasGoOnElsewhereAndNoOthersMove) {
  start(1);
  const std::string dead = planner();
  ASSERT_NE(dead, "");
  const auto before = ticks_from_now();
  nodes_.at(dead).reset();
  const auto killed = Clock::now();
  expect_back_elsewhere(dead, cameras_of(before, 'e', dead), killed, ttl + 3s);
  const auto after = ticks_from_now();
  for (const char* node : nodes) {
    if (node == dead) continue;
    EXPECT_TRUE(std::ranges::includes(cameras_of(after, 'e', node), cameras_of(before, 'e', node))) << node;
  }
  // Its next start takes part again.
  start_node(dead);
  EtcdClient client(etcd_->servers());
  EXPECT_TRUE(wait_for([&] {
    const auto read = client.read(keys.node(dead));
    return read && !read->values.empty();
  }));
  static_cast<void>(ticks_from_now());
  expect_fenced();
}

TEST_F(ClusterAgentTest, AStoppedNodeIsFencedWhenItComesBack) {
  start(1);
  const std::string stopped = "b";
  const Names orphans = cameras_of(ticks_from_now(), 'e', stopped);
  nodes_.at(stopped)->signal(SIGSTOP);
  const auto since = Clock::now();
  expect_back_elsewhere(stopped, orphans, since, ttl + 3s);
  const auto resumed = Clock::now();
  nodes_.at(stopped)->signal(SIGCONT);
  EtcdClient client(etcd_->servers());
  ASSERT_TRUE(wait_for([&] {
    const auto read = client.read(keys.node(stopped));
    return read && !read->values.empty();
  })) << "it joins anew";
  for (const Tick& tick : ticks(to_ns(resumed))) {
    EXPECT_FALSE(tick.node == stopped && tick.kind == 'e' && orphans.contains(tick.camera)) << tick.camera;
  }
  expect_fenced();
}

TEST_F(ClusterAgentTest, ANodeAndEtcdsLeaderDieTogether) {
  start(3);
  const std::string dead = "c";
  const Names orphans = cameras_of(ticks_from_now(), 'e', dead);
  const int leader = etcd_->leader();
  etcd_->kill(leader);
  nodes_.at(dead).reset();
  expect_back_elsewhere(dead, orphans, Clock::now(), 2 * ttl + 3s);
  expect_fenced();
}

TEST_F(ClusterAgentTest, WithoutQuorumEverythingGoesOnButEffects) {
  start(3);
  const auto before = ticks_from_now();
  const test::CpuWaits waits({nodes_.at("a")->pid(), nodes_.at("b")->pid(), nodes_.at("c")->pid()});
  const int leader = etcd_->leader();
  etcd_->kill((leader + 1) % 3);
  etcd_->kill((leader + 2) % 3);
  const auto lost = Clock::now();
  ASSERT_TRUE(wait_for(
      [&] { return Clock::now() > lost + ttl && cameras_of(ticks(to_ns(Clock::now() - 200ms)), 'e').empty(); }));
  const auto without = Clock::now();
  ASSERT_TRUE(wait_for([&] { return Clock::now() > without + ttl; }));
  etcd_->start((leader + 1) % 3);
  static_cast<void>(ticks_from_now());  // it comes back by itself
  // Each node ran its cameras all the time.
  for (const char* node : {"a", "b", "c"}) {
    for (const std::string& camera : cameras_of(before, 'r', node)) {
      std::int64_t last = to_ns(lost);
      std::int64_t longest = 0;
      for (const Tick& tick : ticks(to_ns(lost))) {
        if (tick.kind != 'r' || tick.camera != camera || tick.node != node) continue;
        longest = std::max(longest, tick.when - last);
        last = tick.when;
      }
      EXPECT_LT(std::chrono::nanoseconds(longest), 1500ms + waits.so_far()) << camera << " on " << node;
    }
  }
  expect_fenced();
}

TEST_F(ClusterAgentTest, AnEtcdThatLostItsDataStopsNothing) {
  start(1);
  const auto before = ticks_from_now();
  etcd_->kill(0);
  etcd_->forget(0);
  etcd_->start(0);
  EtcdClient client(etcd_->servers());
  ASSERT_TRUE(wait_for([&] { return planner() != ""; })) << "nodes join the new one";
  const auto joined = Clock::now();
  ASSERT_TRUE(wait_for([&] { return Clock::now() > joined + 2s; }));
  const std::int64_t begin = now_ns();
  for (const char* node : nodes) {
    const Names own = cameras_of(before, 'r', node);
    EXPECT_TRUE(wait_for([&] { return cameras_of(ticks(begin), 'r', node) == own; })) << node;
  }
  EXPECT_TRUE(client.read(keys.plan())->values.empty()) << "nobody plans what others would not obey";
  const auto raised = static_cast<std::uint64_t>(utc_now_ns() / 1'000'000'000);
  ASSERT_EQ(raise_epoch(client, keys, {}, raised).outcome, PlanWritten::done);
  EXPECT_TRUE(wait_for([&] {
    std::set<std::uint64_t> epochs;
    Names names;
    for (const Tick& tick : ticks(to_ns(Clock::now() - 300ms))) {
      if (tick.kind != 'e') continue;
      epochs.insert(tick.fence.epoch);
      names.insert(tick.camera);
    }
    return names.size() == cameras && epochs == std::set<std::uint64_t>{raised};
  }));
  expect_fenced();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
