// An etcd behind a link of its own, which goes down: nothing answers any more, and nothing says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "app/cluster/etcd_mirror.h"
#include "app/cluster/membership.h"
#include "tests/integration/etcd_members.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::EtcdMembers;
using test::wait_for;

bool ip(const std::string& arguments) { return std::system(("ip " + arguments + " 2> /dev/null").c_str()) == 0; }

// A network namespace, and a link to it. Both go with the object.
class Link {
 public:
  Link() {
    made_ = ip("netns add " + name_) &&
            ip("link add " + here_ + " type veth peer name " + there_ + " netns " + name_) &&
            ip("addr add " + network_ + ".1/30 dev " + here_) && ip("link set " + here_ + " up") &&
            ip("-n " + name_ + " addr add " + network_ + ".2/30 dev " + there_) &&
            ip("-n " + name_ + " link set " + there_ + " up") && ip("-n " + name_ + " link set lo up");
  }
  ~Link() {
    ip("link del " + here_);
    ip("netns del " + name_);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] bool made() const { return made_; }
  // The other end's: packets go out and are lost, and no address here is gone.
  void cut() const { ip("-n " + name_ + " link set " + there_ + " down"); }
  void mend() const { ip("-n " + name_ + " link set " + there_ + " up"); }
  [[nodiscard]] std::string address() const { return network_ + ".2"; }
  [[nodiscard]] std::vector<std::string> runner() const { return {"ip", "netns", "exec", name_}; }

 private:
  const std::string number_ = std::to_string(::getpid() % 65'536);
  const std::string name_ = "campipe-test-" + number_;
  const std::string here_ = "cpt" + number_ + "a";
  const std::string there_ = "cpt" + number_ + "b";
  // Of the range for benchmarks (RFC 2544), which no network has.
  const std::string network_ =
      "198." + std::to_string(18 + ::getpid() % 2) + "." + std::to_string(::getpid() / 2 % 256);
  bool made_ = false;
};

class EtcdLinkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
    link_ = std::make_unique<Link>();
    if (!link_->made()) GTEST_SKIP() << "a network namespace cannot be made here: that takes root and iproute2";
    etcd_ = std::make_unique<EtcdMembers>(
        EtcdMembers::Options{.runner = link_->runner(), .host = link_->address(), .listens_at = "0.0.0.0"});
  }

  std::unique_ptr<Link> link_;
  std::unique_ptr<EtcdMembers> etcd_;
};

TEST_F(EtcdLinkTest, AWatchFindsADeadLinkByItselfAndGoesOnWhenItIsBack) {
  EtcdClient client(etcd_->servers());
  ASSERT_TRUE(client.put("rig/a", "1"));
  EtcdWatch watch({etcd_->servers(), "rig/", 1h});  // no canary helps
  ASSERT_TRUE(wait_for([&] { return watch.counts().streams == 1; }));
  EtcdMirror mirror;
  const auto sees = [&](const std::string& value) {
    for (const EtcdNews& news : watch.take()) mirror.apply(news);
    return mirror.find("rig/a") != nullptr && mirror.find("rig/a")->value == value;
  };
  ASSERT_TRUE(wait_for([&] { return sees("1"); }));
  link_->cut();
  ASSERT_TRUE(wait_for([&] { return !watch.problem().empty(); })) << "three probes, a second apart, find it";
  link_->mend();
  ASSERT_TRUE(wait_for([&] { return static_cast<bool>(client.put("rig/a", "2")); }));
  EXPECT_TRUE(wait_for([&] { return sees("2"); }));
  EXPECT_EQ(watch.counts().read_anew, 1U);
}

TEST_F(EtcdLinkTest, ANodeThatIsCutOffEndsItsEffectsBeforeItsLeaseIsOver) {
  const ClusterKeys keys("test");
  NodeOffer offer{"a", new_instance(), "10.0.0.1:8443", "1"};
  Membership node({etcd_->servers(), keys, 3s}, offer);
  ASSERT_TRUE(wait_for([&] { return node.state().stage == MembershipState::Stage::member; }));
  const auto joined = Clock::now();
  ASSERT_TRUE(wait_for([&] { return node.state().effects_end > joined + 3s; })) << "it is kept alive";
  link_->cut();
  const auto cut = Clock::now();
  EXPECT_TRUE(wait_for([&] { return Clock::now() > node.state().effects_end; }));
  EXPECT_LT(node.state().effects_end - cut, 3s);
  // The key goes after that: asked on the other side.
  std::vector<std::string> ask = link_->runner();
  const std::string url = "http://127.0.0.1:" + etcd_->only(0).urls[0].substr(etcd_->only(0).urls[0].rfind(':') + 1);
  ask.insert(ask.end(), {"curl", "-s", "-X", "POST", "-d",
                         R"({"key":"L2NhbXBpcGUvdGVzdC9ub2Rlcy9h","count_only":true})", url + "/v3/kv/range"});
  const bool is_there = test::Program(ask).first_line().find("\"count\":\"1\"") != std::string::npos;
  const bool in_time = Clock::now() < node.state().effects_end + LeaseClock::effect_margin;
  EXPECT_TRUE(is_there || !in_time) << "nobody else may have begun when this node has ended";
  EXPECT_TRUE(wait_for([&] { return test::Program(ask).first_line().find("count") == std::string::npos; }));
  link_->mend();
  EXPECT_TRUE(wait_for(
      [&] {
        const MembershipState state = node.state();
        return state.stage == MembershipState::Stage::member && state.effects_end > Clock::now();
      },
      30s));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
