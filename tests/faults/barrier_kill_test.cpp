// Members of a barrier, each a process of its own, killed with SIGKILL at every step of it. The test is the supervisor.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "ipc/rig_page.h"
#include "tests/faults/peer_process.h"
#include "tests/paths.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

// Of the barrier's members.
ProcessId id_of(unsigned member) { return ProcessId(publisher_process.index() + member); }

class MemberKilled : public testing::TestWithParam<std::string> {
 protected:
  // As the supervisor does: the member is expected before its process runs.
  std::unique_ptr<Peer> start(unsigned member, const std::string& failpoint = {}) {
    const ProcessId process = id_of(member);
    page_.process(process).arrived = 0;
    const std::uint32_t phase = page_.barrier().add(member);
    auto peer = std::make_unique<Peer>(
        ring_peer_program, std::vector<std::string>{"barrier", std::to_string(process.index()), std::to_string(phase)},
        failpoint);
    EXPECT_TRUE(peer->channel().send("page", {}, {page_.shared_fd(), page_.fd_of(process)}));
    return peer;
  }
  void remove(unsigned member) {
    page_.process(id_of(member)).arrived = 0;
    page_.barrier().remove(member);
  }

  // All have got through `phases` more.
  static bool go_on(const std::vector<Peer*>& peers, std::uint64_t phases) {
    std::vector<std::uint64_t> goals;
    for (const Peer* peer : peers) goals.push_back(peer->delivered() + phases);
    return eventually([&] {
      for (std::size_t i = 0; i < peers.size(); ++i) {
        if (peers[i]->delivered() < goals[i]) return false;
      }
      return true;
    });
  }

  const RigPage page_ = RigPage::create(1, 2);
  std::jthread entering_{[this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (unsigned member = 0; member < 3; ++member) page_.enter_arrival(id_of(member));
      std::this_thread::sleep_for(microseconds(200));
    }
  }};
};

TEST_P(MemberKilled, TheOthersGoOnAndASuccessorJoins) {
  constexpr unsigned mortal_member = 2;
  // Nobody gets through the first phase before all are there: this process is expected as well.
  Barrier barrier = page_.barrier();
  barrier.add(15);
  const auto one = start(0);
  const auto other = start(1);
  auto mortal = start(mortal_member, kill_at(GetParam(), 1));
  barrier.remove(15);
  for (const int count : {2, 3, 40, 0}) {
    const CpuWaits waits = waits_of({one.get(), other.get()});
    const auto died = mortal->wait_gone();
    ASSERT_TRUE(died && mortal->was_killed()) << "before count " << count;
    remove(mortal_member);
    ASSERT_TRUE(go_on({one.get(), other.get()}, 20));
    EXPECT_LE(longest_gap(one->journal(), *died), go_on_ns(waits));
    EXPECT_LE(longest_gap(other->journal(), *died), go_on_ns(waits));
    expect_sound(mortal->journal(), true, "the killed member");
    if (count != 0) mortal = start(mortal_member, kill_at(GetParam(), count));
  }
  const auto successor = start(mortal_member);
  EXPECT_TRUE(go_on({one.get(), other.get(), successor.get()}, 20));
  for (Peer* peer : {one.get(), other.get(), successor.get()}) {
    peer->kill();
    EXPECT_TRUE(peer->was_killed()) << "it gave up before";
    expect_sound(peer->journal(), true, "a member");
  }
  EXPECT_EQ(one->journal().entry[0].number, 0U);
  EXPECT_EQ(other->journal().entry[0].number, 0U);
}

INSTANTIATE_TEST_SUITE_P(At, MemberKilled, testing::Values("barrier.arriving", "barrier.arrived"),
                         [](const auto& of) { return of.param == "barrier.arriving" ? "arriving" : "arrived"; });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
