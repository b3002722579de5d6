// The page of a move (ipc/hand_over.h): who owns which frame, whoever decides, and that waits end. Every order of steps
// is explored in tests/model/hand_over_model_test.cpp.
#include "ipc/hand_over.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/error.h"

namespace campipe {
namespace CAMPIPE_FILE {

using std::chrono::milliseconds;
using Owner = HandOver::Owner;
using State = HandOver::State;

class HandOverTest : public testing::Test {
 protected:
  std::shared_ptr<HandOver> page_ = HandOver::create();
  // Of another process.
  std::shared_ptr<HandOver> other_ = HandOver::open(duplicate(page_->fd()));
};

TEST_F(HandOverTest, AllFramesAreTheOldNodesAtFirst) {
  EXPECT_EQ(page_->word(), HandOver::Word{});
  EXPECT_EQ(other_->owner_of(1), Owner::old_node);
  EXPECT_FALSE(page_->boundary());
  EXPECT_FALSE(page_->commit(5)) << "the new node is not ready";
}

TEST_F(HandOverTest, TheOldNodeCommitsAtTheFrameInItsHands) {
  page_->pass(9);
  ASSERT_TRUE(other_->get_ready(10));
  EXPECT_FALSE(page_->commit(9));
  EXPECT_EQ(other_->owner_of(9), Owner::old_node);
  EXPECT_EQ(other_->owner_of(10), Owner::undecided);
  page_->pass(10);
  EXPECT_EQ(other_->owner_of(10), Owner::old_node);
  ASSERT_TRUE(page_->commit(11));
  EXPECT_EQ(other_->owner_of(10), Owner::old_node);
  EXPECT_EQ(other_->owner_of(11), Owner::new_node);
  EXPECT_EQ(other_->boundary(), 11U);
}

TEST_F(HandOverTest, WhatIsCommittedIsNotCancelled) {
  ASSERT_TRUE(other_->get_ready(3));
  ASSERT_TRUE(page_->commit(4));
  EXPECT_FALSE(page_->cancel());
  EXPECT_FALSE(other_->cancel());
  EXPECT_EQ(page_->decide_for_dead(10), 4U);
  EXPECT_EQ(page_->word().state, State::committed);
}

TEST_F(HandOverTest, WhatIsCancelledIsTheOldNodes) {
  ASSERT_TRUE(other_->get_ready(3));
  ASSERT_TRUE(page_->cancel());
  EXPECT_TRUE(other_->cancel());
  EXPECT_FALSE(page_->commit(4));
  EXPECT_FALSE(other_->get_ready(5));
  EXPECT_EQ(other_->owner_of(4), Owner::old_node);
  EXPECT_TRUE(other_->is_cancelled());
  EXPECT_FALSE(page_->decide_for_dead(10));
}

TEST_F(HandOverTest, ForADeadOldNodeItIsBehindTheFrameThatItHadPassed) {
  page_->pass(7);
  ASSERT_TRUE(other_->get_ready(5));
  EXPECT_EQ(page_->decide_for_dead(20), 8U);
  EXPECT_EQ(other_->owner_of(7), Owner::old_node);
  EXPECT_EQ(other_->owner_of(8), Owner::new_node);
}

TEST_F(HandOverTest, ForADeadOldNodeItIsNotBeforeTheNewOneWasReady) {
  page_->pass(7);
  ASSERT_TRUE(other_->get_ready(12));
  EXPECT_EQ(page_->decide_for_dead(20), 12U);
}

TEST_F(HandOverTest, ForADeadOldNodeItIsCancelledWhereTheNewOneIsNotReady) {
  page_->pass(7);
  EXPECT_FALSE(page_->decide_for_dead(20));
  EXPECT_TRUE(page_->is_cancelled());
}

// It may have worked on frames before it had the page.
TEST_F(HandOverTest, ForADeadOldNodeItIsCancelledWhereThatHadPassedNoFrame) {
  ASSERT_TRUE(other_->get_ready(5));
  EXPECT_FALSE(page_->decide_for_dead(20));
  EXPECT_TRUE(page_->is_cancelled());
}

TEST_F(HandOverTest, NumbersThatCannotBeDoNotLeadBeyondTheRing) {
  page_->pass(~std::uint64_t{0});
  ASSERT_TRUE(other_->get_ready(std::uint64_t{1} << 61));
  EXPECT_EQ(page_->decide_for_dead(20), 21U);
}

TEST_F(HandOverTest, ABoundaryThatNoFrameReachesIsPutRightForADeadOldNode) {
  ASSERT_TRUE(other_->get_ready(5));
  ASSERT_TRUE(page_->commit(std::uint64_t{1} << 60));
  EXPECT_EQ(page_->decide_for_dead(20), 21U);
  EXPECT_EQ(other_->owner_of(21), Owner::new_node);
}

TEST_F(HandOverTest, AWaitHasADeadline) {
  ASSERT_TRUE(other_->get_ready(2));
  const auto begin = Clock::now();
  EXPECT_EQ(other_->wait_for_owner(2, begin + milliseconds(50)), Owner::undecided);
  EXPECT_GE(Clock::now() - begin, milliseconds(50));
}

// Each of the three that decides wakes the new node.
TEST_F(HandOverTest, AWaitEndsWithTheDecision) {
  ASSERT_TRUE(other_->get_ready(2));
  const auto owner_after = [&](const auto& decide) {
    std::atomic<Owner> owner = Owner::undecided;
    std::jthread waits([&] { owner = other_->wait_for_owner(2, Clock::now() + std::chrono::seconds(50)); });
    decide();
    waits.join();
    return owner.load();
  };
  EXPECT_EQ(owner_after([&] { page_->pass(2); }), Owner::old_node);
  page_ = HandOver::create();
  other_ = HandOver::open(duplicate(page_->fd()));
  ASSERT_TRUE(other_->get_ready(2));
  EXPECT_EQ(owner_after([&] { ASSERT_TRUE(page_->commit(2)); }), Owner::new_node);
  page_ = HandOver::create();
  other_ = HandOver::open(duplicate(page_->fd()));
  ASSERT_TRUE(other_->get_ready(2));
  EXPECT_EQ(owner_after([&] { ASSERT_TRUE(page_->cancel()); }), Owner::old_node);
}

TEST_F(HandOverTest, WhatIsDueTravelsAlong) {
  EXPECT_EQ(other_->carried(0), HandOver::Due{});
  page_->carry(0, {40'000'000, 7});
  page_->carry(2, {std::nullopt, 0});
  EXPECT_EQ(other_->carried(0), (HandOver::Due{40'000'000, 7}));
  EXPECT_EQ(other_->carried(1), HandOver::Due{});
  EXPECT_EQ(other_->carried(2), (HandOver::Due{std::nullopt, 0}));
  page_->carry(HandOver::most_outputs, {1, 1});
  EXPECT_EQ(other_->carried(HandOver::most_outputs), HandOver::Due{});
}

TEST_F(HandOverTest, HowManyFramesTheOldNodeHasTakenIsKnownOnceItCommits) {
  EXPECT_FALSE(other_->taken_by_old());
  page_->set_taken_by_old(0);
  EXPECT_EQ(other_->taken_by_old(), 0U);
  EXPECT_EQ(page_->taken_by_new(), 0U);
  other_->set_taken_by_new(3);
  EXPECT_EQ(page_->taken_by_new(), 3U);
}

TEST_F(HandOverTest, WhatIsNoSuchPageIsNotOpened) {
  EXPECT_THROW(HandOver::open(create_shared_memory("other", 64)), Error);
  EXPECT_THROW(HandOver::open(create_shared_memory("other", 64 * 1024)), Error);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
