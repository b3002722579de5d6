// The barrier between threads and between processes, with members that come, die and are late.
#include "ipc/barrier.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <vector>

#include "ipc/edge_blocks.h"
#include "ipc/rig_page.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

class BarrierTest : public testing::Test {
 protected:
  Barrier::Word word_{0};
  Barrier barrier_{word_};
};

TEST_F(BarrierTest, APhaseIsOverWhenAllHaveArrived) {
  EXPECT_EQ(barrier_.add(0), 0U);
  EXPECT_EQ(barrier_.add(3), 0U);
  barrier_.arrive(0, 0);
  EXPECT_FALSE(barrier_.over(0));
  barrier_.arrive(3, 0);
  EXPECT_TRUE(barrier_.over(0));
  EXPECT_FALSE(barrier_.over(1));
  EXPECT_EQ(barrier_.wait(0, Clock::now()), 0U);
}

TEST_F(BarrierTest, TheDeadlineTellsWhoIsMissing) {
  for (const unsigned member : {0U, 2U, 15U}) barrier_.add(member);
  barrier_.arrive(2, 0);
  const auto begin = Clock::now();
  EXPECT_EQ(barrier_.wait(0, begin + milliseconds(30)), 0x8001U);
  EXPECT_GE(Clock::now() - begin, milliseconds(30));
  barrier_.arrive(15, 0);
  EXPECT_EQ(barrier_.wait(0, Clock::now()), 0x0001U);
}

TEST_F(BarrierTest, ArrivingTwiceCountsOnce) {
  barrier_.add(0);
  barrier_.add(1);
  barrier_.arrive(0, 0);
  barrier_.arrive(0, 0);
  EXPECT_FALSE(barrier_.over(0));
  EXPECT_EQ(barrier_.wait(0, Clock::now()), 0x0002U);
}

TEST_F(BarrierTest, ArrivingAtAnotherPhaseDoesNothing) {
  barrier_.add(0);
  barrier_.add(1);
  barrier_.arrive(0, 1);
  EXPECT_EQ(barrier_.wait(0, Clock::now()), 0x0003U) << "a phase that has not begun";
  barrier_.arrive(0, 0);
  barrier_.arrive(1, 0);
  barrier_.arrive(0, 0);
  EXPECT_EQ(barrier_.wait(1, Clock::now()), 0x0003U) << "a phase that is over";
}

TEST_F(BarrierTest, TakingTheLastMissingOneOutCompletesThePhase) {
  for (const unsigned member : {0U, 1U, 2U}) barrier_.add(member);
  barrier_.arrive(0, 0);
  barrier_.remove(1);
  EXPECT_FALSE(barrier_.over(0));
  barrier_.remove(2);
  EXPECT_TRUE(barrier_.over(0));
  barrier_.arrive(0, 1);
  EXPECT_TRUE(barrier_.over(1)) << "only one is left";
}

TEST_F(BarrierTest, TakingOutOneWhoHadArrivedCompletesNothing) {
  for (const unsigned member : {0U, 1U, 2U}) barrier_.add(member);
  barrier_.arrive(0, 0);
  barrier_.remove(0);
  EXPECT_EQ(barrier_.wait(0, Clock::now()), 0x0006U);
}

TEST_F(BarrierTest, ASuccessorIsToldThePhaseItArrivesAt) {
  barrier_.add(0);
  barrier_.add(1);
  barrier_.arrive(0, 0);
  barrier_.arrive(1, 0);
  barrier_.arrive(0, 1);
  barrier_.remove(1);  // completes phase 1
  EXPECT_EQ(barrier_.add(1), 2U);
  EXPECT_EQ(barrier_.wait(2, Clock::now()), 0x0003U);
}

TEST_F(BarrierTest, EveryPhaseMeetsThreads) {
  constexpr unsigned members = 4;
  constexpr std::uint32_t phases = 500;
  std::array<std::atomic<std::uint32_t>, members> reached{};
  for (unsigned member = 0; member < members; ++member) barrier_.add(member);
  std::vector<std::jthread> threads;
  for (unsigned member = 0; member < members; ++member) {
    threads.emplace_back([&, member] {
      for (std::uint32_t phase = 0; phase < phases; ++phase) {
        reached[member].store(phase + 1);
        barrier_.arrive(member, phase);
        ASSERT_EQ(barrier_.wait(phase, after(seconds(50))), 0U);
        for (const auto& other : reached) ASSERT_GE(other.load(), phase + 1) << "somebody was left behind";
      }
    });
  }
}

TEST_F(BarrierTest, ATakenOutMemberWakesTheWaiting) {
  barrier_.add(0);
  barrier_.add(1);
  barrier_.arrive(0, 0);
  std::jthread supervisor([&] { barrier_.remove(1); });
  EXPECT_EQ(barrier_.wait(0, after(seconds(50))), 0U);
}

// In a child: no assertion and no return into the test.
int take_part(const Barrier& given, std::atomic<std::uint64_t>& sum, unsigned member, std::uint32_t phases) {
  Barrier barrier = given;
  for (std::uint32_t phase = 0; phase < phases; ++phase) {
    sum.fetch_add(1);
    barrier.arrive(member, phase);
    if (barrier.wait(phase, after(seconds(50))) != 0) return 1;
    if (sum.load() < std::uint64_t{phase + 1} * 4) return 2;
  }
  return 0;
}

TEST(BarrierInPages, EveryPhaseMeetsProcesses) {
  constexpr std::uint32_t phases = 200;
  const RigPage page = RigPage::create(1);
  Barrier barrier = page.barrier();
  for (unsigned member = 0; member < 4; ++member) barrier.add(member);
  std::vector<pid_t> children;
  for (unsigned member = 0; member < 4; ++member) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      ::_exit(take_part(barrier, page.edge_writer(EdgeId(0), master_process).unpublished[0], member, phases));
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_TRUE(barrier.over(phases - 1));
  EXPECT_EQ(page.edge_writer(EdgeId(0), master_process).unpublished[0].load(), phases * 4);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
