// A program with clocks of its own, as a simulation is: what it links reads these.
#include <gtest/gtest.h>

#include "core/clock.h"
#include "core/utc_text.h"

namespace campipe {

static Clock::time_point virtual_now{std::chrono::seconds(42)};

Clock::time_point Clock::now() noexcept { return virtual_now; }

std::chrono::system_clock::time_point utc_now() noexcept {
  return std::chrono::system_clock::time_point(virtual_now.time_since_epoch());
}

namespace CAMPIPE_FILE {

TEST(ReplacedClock, StandsStillUntilItIsMoved) {
  EXPECT_EQ(now_ns(), 42'000'000'000);
  virtual_now += std::chrono::hours(24);
  EXPECT_EQ(Clock::now(), Clock::time_point(std::chrono::seconds(42 + 86'400)));
  EXPECT_EQ(utc_text(utc_now_ns()).substr(0, 19), "1970-01-02T00:00:42");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
