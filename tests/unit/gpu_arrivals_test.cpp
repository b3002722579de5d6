// When GPUs that the rig awaits are looked for, on a machine that the test describes.
#include "app/supervisor/faults/gpu_arrivals.h"

#include <gtest/gtest.h>

#include "tests/unit/fake_port.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using std::chrono::seconds;

class GpuArrivalsTest : public testing::Test {
 protected:
  // The supervisor's loop from then on, for so long.
  std::optional<Devices> run_for(seconds time) {
    for (const auto end = now_ + time; now_ < end; now_ += std::chrono::milliseconds(500)) {
      if (auto found = arrivals_.look(now_)) return found;
    }
    return std::nullopt;
  }
  static Devices devices(const std::string& problem) {
    Devices all;
    all.problem = problem;
    return all;
  }

  FakePort port_;
  GpuArrivals arrivals_{port_, Mps::off};
  Clock::time_point now_{seconds(1000)};
};

TEST_F(GpuArrivalsTest, AreLookedForAfterTenSecondsAndThenAfterTwiceAsLong) {
  EXPECT_FALSE(run_for(seconds(10)));
  EXPECT_EQ(port_.searches, 0U);
  port_.found = {devices("none yet")};
  const auto first = run_for(seconds(2));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->problem, "none yet");
  EXPECT_EQ(port_.searches, 1U);
  EXPECT_FALSE(run_for(seconds(8)));
  EXPECT_EQ(port_.searches, 1U);
  EXPECT_FALSE(run_for(seconds(12)));
  EXPECT_EQ(port_.searches, 2U) << "the search goes on";
  EXPECT_FALSE(run_for(seconds(60)));
  EXPECT_EQ(port_.searches, 2U) << "one at a time";
}

TEST_F(GpuArrivalsTest, AreLookedForAtOnceWhenTheirFilesCome) {
  EXPECT_FALSE(run_for(seconds(4)));
  port_.signs.files.devices = {"/dev/nvidia0"};
  EXPECT_FALSE(run_for(seconds(4)));
  EXPECT_EQ(port_.searches, 1U);
}

TEST_F(GpuArrivalsTest, AreNotLookedForWithoutTheMpsDaemon) {
  port_.signs.mps = "no daemon";
  const auto found = run_for(seconds(20));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->problem, "no daemon");
  EXPECT_EQ(port_.searches, 0U);
}

TEST_F(GpuArrivalsTest, NoneIsAwaitedAnyMore) {
  EXPECT_FALSE(run_for(seconds(12)));
  EXPECT_EQ(port_.searches, 1U);
  arrivals_.stop();
  EXPECT_FALSE(run_for(seconds(8)));
  EXPECT_EQ(port_.searches, 1U) << "the next one begins anew";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
