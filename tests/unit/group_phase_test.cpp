// When sets of a synchronised group were taken: the same for every member, and near what each of them has seen.
#include "app/worker/group_phase.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace campipe {
namespace CAMPIPE_FILE {

constexpr std::int64_t ms = 1'000'000;
constexpr double rate = 25;
constexpr std::uint64_t first_set = 45'000'000'000;

std::int64_t due(std::uint64_t set) { return std::llround(static_cast<long double>(set) * 1e9L / rate); }

class GroupPhaseTest : public testing::Test {
 protected:
  GroupPhaseTest() {
    page_->add(0);
    page_->add(1);
  }

  // Both come to the set with frames that were taken so much later than it is due.
  void come(std::uint64_t set, std::int64_t left, std::int64_t right) {
    left_.arrive(set, due(set) + left, Deadline::max());
    right_.arrive(set, due(set) + right, Deadline::max());
  }

  std::shared_ptr<GroupPage> page_ = GroupPage::create({});
  GroupMember left_{page_, 0};
  GroupMember right_{page_, 1};
};

TEST_F(GroupPhaseTest, EachMemberSaysTheSameWheneverItBegins) {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> jitter(-3 * ms, 3 * ms);
  GroupPhase from_start(page_, rate);
  std::optional<GroupPhase> successor;
  for (std::uint64_t n = 0; n < 1500; ++n) {
    const std::uint64_t set = first_set + n;
    if (n % 13 == 5) {
      EXPECT_NE(left_.settle(set), SetOutcome::encode);  // nobody has a frame of it
      continue;
    }
    come(set, 12 * ms + jitter(random), 14 * ms + jitter(random));
    const auto taken = from_start.taken(set);
    ASSERT_TRUE(taken.has_value());
    EXPECT_NEAR(static_cast<double>(*taken - due(set)) / ms, 13, n < 50 ? 3 : 1.2) << n;
    if (n % 100 == 0) successor.emplace(page_, rate);
    if (successor) {
      EXPECT_EQ(successor->taken(set), taken) << n;
    }
  }
}

TEST_F(GroupPhaseTest, FollowsCamerasThatDrift) {
  GroupPhase phase(page_, rate);
  for (std::uint64_t n = 0; n < 2000; ++n) {
    const auto moved = static_cast<std::int64_t>(n) * ms / 1000;
    come(first_set + n, moved, moved);
    EXPECT_NEAR(static_cast<double>(phase.taken(first_set + n).value() - due(first_set + n) - moved) / ms, 0, 0.2);
  }
}

TEST_F(GroupPhaseTest, IsNotMovedByFramesThatWereTakenLate) {
  GroupPhase phase(page_, rate);
  for (std::uint64_t n = 0; n < 500; ++n) {
    come(first_set + n, n % 4 == 0 ? 35 * ms : 5 * ms, 5 * ms);
    if (n > 10) {
      EXPECT_EQ(phase.taken(first_set + n), due(first_set + n) + 5 * ms) << n;
    }
  }
}

// Frames of one that came too late are no part of it.
TEST_F(GroupPhaseTest, CountsThoseThatCameInTime) {
  GroupPhase phase(page_, rate);
  left_.arrive(first_set, due(first_set) + 5 * ms, Deadline());
  EXPECT_EQ(left_.wait(Deadline()), SetOutcome::encode);
  EXPECT_EQ(right_.arrive(first_set, due(first_set) + 15 * ms, Deadline::max()), SetOutcome::late);
  EXPECT_EQ(phase.taken(first_set), due(first_set) + 5 * ms);
}

TEST_F(GroupPhaseTest, NothingIsKnownOfSetsThatNobodyHasComeTo) {
  GroupPhase phase(page_, rate);
  EXPECT_EQ(phase.taken(3), std::nullopt);
  EXPECT_EQ(phase.taken(first_set), std::nullopt);
  left_.settle(first_set + 1);
  EXPECT_EQ(phase.taken(first_set + 1), std::nullopt);
}

// Each member can write the page.
TEST_F(GroupPhaseTest, WhatCannotBeMovesItByLessThanASet) {
  GroupPhase phase(page_, rate);
  for (const std::int64_t garbage :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), std::int64_t{0}}) {
    const std::uint64_t set = first_set + static_cast<std::uint64_t>(garbage & 3);
    left_.arrive(set, garbage, Deadline::max());
    right_.arrive(set, due(set), Deadline::max());
    const auto taken = phase.taken(set);
    ASSERT_TRUE(taken.has_value());
    EXPECT_LE(std::abs(*taken - due(set)), due(1));
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
