// What counts as a clock that was set.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "app/publisher/clock_jumps.h"
#include "core/clock_reading.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t begin = 1'700'000'000'000'000'000;

ClockReading reading(std::int64_t at, std::int64_t set_by = 0) { return {begin + at + set_by, at}; }

TEST(ClockJumps, AreStepsInEitherDirectionOnceEach) {
  ClockJumps jumps(reading(0));
  EXPECT_FALSE(jumps.observe(reading(100 * ms)));
  EXPECT_EQ(jumps.observe(reading(200 * ms, 3000 * ms)), 3s);
  EXPECT_FALSE(jumps.observe(reading(300 * ms, 3000 * ms)));
  EXPECT_EQ(jumps.observe(reading(400 * ms, -3'600'000 * ms)), -3603s);
  EXPECT_EQ(jumps.observe(reading(500 * ms, -3'600'000 * ms + 128 * ms)), 128ms) << "the least that ntpd steps by";
}

TEST(ClockJumps, AreNotWhatNtpSlews) {
  ClockJumps jumps(reading(0));
  std::int64_t slewed = 0;
  std::int64_t at = 0;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t passed = i % 10 == 9 ? 5000 * ms : 100 * ms;  // a thread that is held up now and then
    at += passed;
    slewed += passed / 12;
    EXPECT_FALSE(jumps.observe(reading(at, slewed))) << i;
  }
  EXPECT_GT(slewed, 4000 * ms);
}

TEST(ClockJumps, AreNotWhatTheClocksOfThisMachineDo) {
  ClockJumps jumps(read_clocks());
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(jumps.observe(read_clocks()));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
