// Members of a group, each a process of its own, killed with SIGKILL at every step of a set. The test is the
// supervisor.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <tuple>

#include "ipc/group_page.h"
#include "tests/faults/peer_process.h"
#include "tests/paths.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr unsigned mortal_member = 2;

class GroupMemberKilled : public testing::TestWithParam<std::tuple<std::string, OnMissing>> {
 protected:
  std::unique_ptr<Peer> start(unsigned member, const std::string& failpoint = {}) {
    page_->add(member);
    auto peer =
        std::make_unique<Peer>(ring_peer_program, std::vector<std::string>{"group", std::to_string(member)}, failpoint);
    EXPECT_TRUE(peer->channel().send("page", {}, {page_->fd()}));
    return peer;
  }

  // All have been through so many sets more.
  static bool go_on(const std::vector<Peer*>& peers, std::uint64_t sets) {
    std::vector<std::uint64_t> goals;
    for (const Peer* peer : peers) goals.push_back(peer->delivered() + sets);
    return eventually([&] {
      for (std::size_t i = 0; i < peers.size(); ++i) {
        if (peers[i]->delivered() < goals[i]) return false;
      }
      return true;
    });
  }

  // By set, what each journal says became of it.
  void collect(const Peer& peer) {
    for (std::uint64_t at = 0; at < peer.delivered(); ++at) {
      const std::uint64_t number = peer.journal().entry[at].number;
      const auto outcome = static_cast<SetOutcome>(number % 8);
      const bool settled = number / 8 % 2 != 0;  // it had no frame of it; perhaps nobody had
      if (!settled) ++count_[outcome];
      if (outcome == SetOutcome::late) continue;
      const auto [known, fresh] = decisions_.emplace(number / 16, outcome);
      EXPECT_EQ(known->second, outcome) << "set " << number / 16;
      if (!fresh) ++shared_;
    }
  }

  std::shared_ptr<GroupPage> page_ = GroupPage::create(
      {std::get<1>(GetParam()), std::get<1>(GetParam()) == OnMissing::wait ? milliseconds(1) : milliseconds(50)});
  std::map<std::uint64_t, SetOutcome> decisions_;
  std::map<SetOutcome, int> count_;
  int shared_ = 0;  // sets that more than one acted on
};

TEST_P(GroupMemberKilled, TheOthersGoOnAndActAlike) {
  const auto& [point, on_missing] = GetParam();
  const auto one = start(0);
  const auto other = start(1);
  for (const int count : {1, 2, 20}) {
    const auto mortal = start(mortal_member, kill_at(point, count));
    const CpuWaits waits = waits_of({one.get(), other.get()});
    const auto died = mortal->wait_gone();
    ASSERT_TRUE(died && mortal->was_killed()) << "before count " << count;
    page_->remove(mortal_member);
    ASSERT_TRUE(go_on({one.get(), other.get()}, 30));
    EXPECT_LE(longest_gap(one->journal(), *died), go_on_ns(waits));
    EXPECT_LE(longest_gap(other->journal(), *died), go_on_ns(waits));
    expect_sound(mortal->journal(), false, "the killed member");
    collect(*mortal);
  }
  const auto successor = start(mortal_member);
  EXPECT_TRUE(go_on({one.get(), other.get(), successor.get()}, 30));
  for (Peer* peer : {one.get(), other.get(), successor.get()}) {
    peer->kill();
    EXPECT_TRUE(peer->was_killed()) << "it gave up before";
    expect_sound(peer->journal(), false, "a member");
    collect(*peer);
  }
  EXPECT_GT(shared_, 60);
  EXPECT_GT(count_[SetOutcome::encode], 60);
  EXPECT_EQ(count_[SetOutcome::open] + count_[SetOutcome::broken], 0);
  EXPECT_EQ(count_[SetOutcome::drop] > 0, on_missing == OnMissing::drop);
}

std::string name_of(OnMissing on_missing) {
  return on_missing == OnMissing::repeat ? "repeat" : on_missing == OnMissing::drop ? "drop" : "wait";
}

INSTANTIATE_TEST_SUITE_P(At, GroupMemberKilled,
                         testing::Combine(testing::Values("group.arriving", "group.arrived", "group.deciding",
                                                          "group.decided", "group.settling"),
                                          testing::Values(OnMissing::repeat, OnMissing::drop, OnMissing::wait)),
                         [](const auto& of) {
                           return std::get<0>(of.param).substr(6) + "_" + name_of(std::get<1>(of.param));
                         });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
