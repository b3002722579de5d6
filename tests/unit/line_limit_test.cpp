#include "core/line_limit.h"

#include <gtest/gtest.h>

namespace campipe {
namespace CAMPIPE_FILE {

using std::chrono::seconds;

TEST(LineLimit, OneInEachIntervalAndTheRestAreCounted) {
  LineLimit limit(seconds(60));
  const Clock::time_point begin{seconds(1000)};
  EXPECT_EQ(limit.pass(begin), "");
  for (int i = 1; i < 60; ++i) EXPECT_EQ(limit.pass(begin + seconds(i)), std::nullopt);
  EXPECT_EQ(limit.pass(begin + seconds(60)), " (and 59 times since this was logged)");
  EXPECT_EQ(limit.pass(begin + seconds(61)), std::nullopt);
  EXPECT_EQ(limit.pass(begin + seconds(200)), " (and 1 times since this was logged)");
  EXPECT_EQ(limit.pass(begin + seconds(300)), "");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
