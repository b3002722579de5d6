// A watch of a real etcd keeps a mirror right, whatever happens to its members, and finds out by itself that it has to
// go on elsewhere.
#include "app/cluster/etcd_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "app/cluster/etcd_mirror.h"
#include "tests/integration/etcd_members.h"
#include "tests/unit/cpu_waits.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::EtcdMembers;
using test::wait_for;
using testing::HasSubstr;

class EtcdWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
  }
};

// Follows "rig/", in a mirror.
class Follower {
 public:
  explicit Follower(EtcdServers servers, std::chrono::milliseconds silence = 10s, std::chrono::milliseconds answer = 2s)
      : watch_({std::move(servers), "rig/", silence, answer}) {}

  // Waits until the mirror's value is this one; empty: there is no such key.
  [[nodiscard]] bool sees(const std::string& key, const std::string& value, std::chrono::milliseconds patience = 60s) {
    const Deadline until = Clock::now() + patience;
    for (;;) {
      for (const EtcdNews& news : watch_.take()) mirror_.apply(news);
      const EtcdKeyValue* found = mirror_.find(key);
      if (mirror_.revision() > 0 && (found != nullptr ? found->value : "") == value) return true;
      if (Clock::now() > until) return false;
      pollfd readable{watch_.fd(), POLLIN, 0};
      ::poll(&readable, 1, 100);
    }
  }
  [[nodiscard]] const EtcdWatch& watch() const { return watch_; }
  [[nodiscard]] const EtcdMirror& mirror() const { return mirror_; }

 private:
  EtcdWatch watch_;
  EtcdMirror mirror_;
};

// Written, whatever it takes: the value is the same however often.
void write(EtcdClient& client, const std::string& key, const std::string& value) {
  ASSERT_TRUE(wait_for([&] { return static_cast<bool>(client.put(key, value)); }));
}

TEST_F(EtcdWatchTest, GivesEverythingAndThenEachChange) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  write(client, "rig/a", "1");
  write(client, "other", "1");
  Follower follower(etcd.servers(), 1h);  // so that nothing else wakes it up
  ASSERT_TRUE(follower.sees("rig/a", "1"));
  ASSERT_TRUE(wait_for([&] { return follower.watch().counts().streams == 1; }));
  write(client, "rig/b", "2");
  ASSERT_TRUE(follower.sees("rig/b", "2"));
  ASSERT_TRUE(client.txn({{}, {EtcdOperation::erase("rig/a"), EtcdOperation::put("rig/b", "3")}}));
  ASSERT_TRUE(follower.sees("rig/a", ""));
  EXPECT_EQ(follower.mirror().find("rig/b")->value, "3") << "what was changed in one step is seen in one step";
  EXPECT_EQ(follower.mirror().find("other"), nullptr);
  EXPECT_EQ(follower.watch().problem(), "");
  EXPECT_EQ(follower.watch().counts().read_anew, 1U);
}

TEST_F(EtcdWatchTest, GoesOnBehindWhatItHasWhenItsMemberIsKilled) {
  EtcdMembers etcd(3);
  EtcdClient client(etcd.servers());
  write(client, "rig/a", "0");
  Follower follower(etcd.servers());
  ASSERT_TRUE(follower.sees("rig/a", "0"));
  for (int member = 0; member < 3; ++member) {  // one of them is the one that serves
    etcd.kill(member);
    write(client, "rig/a", "killed " + std::to_string(member));
    ASSERT_TRUE(follower.sees("rig/a", "killed " + std::to_string(member)));
    etcd.start(member);
    write(client, "rig/a", "back " + std::to_string(member));
    ASSERT_TRUE(follower.sees("rig/a", "back " + std::to_string(member)));
    etcd.leader();
  }
  EXPECT_EQ(follower.watch().counts().read_anew, 1U) << "nothing was missed, so nothing had to be read again";
  EXPECT_GT(follower.watch().counts().streams, 1U);
}

// Its link answers probes as long as the machine lives.
TEST_F(EtcdWatchTest, FindsAStoppedMemberByItsCanary) {
  EtcdMembers etcd(3);
  EtcdClient client(etcd.servers());
  write(client, "rig/a", "0");
  Follower follower(etcd.servers(), 500ms, 1s);
  ASSERT_TRUE(follower.sees("rig/a", "0"));
  for (int member = 0; member < 3; ++member) {
    etcd.stop(member);
    // A key of its own: the member may have got a request that the client gave up, and obeys it when it is resumed.
    const std::string key = "rig/" + std::to_string(member);
    write(client, key, "stopped");
    EXPECT_TRUE(follower.sees(key, "stopped")) << follower.watch().problem();
    etcd.resume(member);
    etcd.leader();
  }
  EXPECT_EQ(follower.watch().counts().read_anew, 1U);
  EXPECT_GT(follower.watch().counts().streams, 1U);
}

TEST_F(EtcdWatchTest, FollowersShareTheirCanaries) {
  EtcdMembers etcd(1);
  std::vector<std::unique_ptr<Follower>> followers;
  for (int i = 0; i < 8; ++i) followers.push_back(std::make_unique<Follower>(etcd.servers(), 500ms));
  for (const auto& follower : followers) ASSERT_TRUE(follower->sees("rig/none", ""));
  const auto written = [&] {
    std::uint64_t all = 0;
    for (const auto& follower : followers) all += follower->watch().counts().canaries;
    return all;
  };
  const auto begun = Clock::now();
  const std::uint64_t before = written();
  ASSERT_TRUE(wait_for([&] { return written() >= before + 8; }));
  // Each for itself would have written as many in the first half second.
  EXPECT_GT(Clock::now() - begun, 1s);
  for (const auto& follower : followers) EXPECT_EQ(follower->watch().counts().streams, 1U);
}

TEST_F(EtcdWatchTest, SaysThatThereIsNoQuorumAndComesBack) {
  EtcdMembers etcd(3);
  EtcdClient client(etcd.servers());
  write(client, "rig/a", "1");
  Follower follower(etcd.servers());
  ASSERT_TRUE(follower.sees("rig/a", "1"));
  const int leader = etcd.leader();
  etcd.kill((leader + 1) % 3);
  etcd.kill((leader + 2) % 3);
  EXPECT_TRUE(wait_for([&] { return !follower.watch().problem().empty(); }));
  EXPECT_TRUE(follower.sees("rig/a", "1")) << "what is known stays";
  etcd.start((leader + 1) % 3);
  write(client, "rig/a", "2");
  EXPECT_TRUE(follower.sees("rig/a", "2"));
  EXPECT_TRUE(wait_for([&] { return follower.watch().problem().empty(); }));
  EXPECT_EQ(follower.watch().counts().read_anew, 1U);
}

TEST_F(EtcdWatchTest, ReadsAnewWhereCompactionTookWhatItMissed) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  write(client, "rig/a", "1");
  write(client, "rig/gone", "1");
  Follower follower(etcd.servers());
  ASSERT_TRUE(follower.sees("rig/a", "1"));
  ASSERT_TRUE(wait_for([&] { return follower.watch().counts().streams == 1; }));
  // Changes are made and compacted where the follower does not find the member.
  etcd.kill(0);
  ASSERT_TRUE(wait_for([&] { return !follower.watch().problem().empty(); }));
  const EtcdServers hidden_at = etcd.start_hidden(0);
  EtcdClient hidden(hidden_at);
  write(hidden, "rig/a", "2");
  ASSERT_TRUE(hidden.txn({{}, {EtcdOperation::erase("rig/gone")}}));
  const auto now = hidden.read("rig/a");
  ASSERT_TRUE(now);
  ASSERT_TRUE(
      etcd.post(hidden_at, "/v3/kv/compaction", R"({"revision":")" + std::to_string(now->header.revision) + "\"}"));
  etcd.kill(0);
  etcd.start(0);
  EXPECT_TRUE(follower.sees("rig/a", "2"));
  EXPECT_TRUE(follower.sees("rig/gone", ""));
  EXPECT_GT(follower.watch().counts().read_anew, 1U);
}

TEST_F(EtcdWatchTest, ReadsAnewWhereTheStoreWentBack) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  for (int i = 0; i < 20; ++i) write(client, "rig/a", std::to_string(i));
  Follower follower(etcd.servers());
  ASSERT_TRUE(follower.sees("rig/a", "19"));
  ASSERT_TRUE(wait_for([&] { return follower.watch().counts().streams == 1; }));
  etcd.kill(0);
  etcd.forget(0);  // as a backup from before the first write
  etcd.start(0);
  write(client, "rig/b", "new");
  EXPECT_TRUE(follower.sees("rig/b", "new"));
  EXPECT_TRUE(follower.sees("rig/a", ""));
  EXPECT_EQ(follower.watch().counts().read_anew, 2U);
}

TEST_F(EtcdWatchTest, EndsAtOnceWhereNobodyAnswers) {
  test::Server silent(test::stay_silent);
  const EtcdServers servers{{"http://127.0.0.1:" + std::to_string(silent.port())}};
  const auto end = [&] {
    const int before = silent.connections();
    auto watch = std::make_unique<EtcdWatch>(EtcdWatch::Options{servers, "rig/"});
    EXPECT_TRUE(wait_for([&] { return silent.connections() > before; }));
    const auto begun = Clock::now();
    watch.reset();
    return Clock::now() - begun;
  };
  EXPECT_LT(test::quickest(end), 1s) << "a request has two seconds";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
