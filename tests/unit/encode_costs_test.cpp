#include <gtest/gtest.h>

#include "app/supervisor/life/encode_costs.h"

namespace campipe {
namespace CAMPIPE_FILE {

TEST(CoreSamples, SayNothingBeforeHalfAMinute) {
  CoreSamples samples;
  for (int i = 0; i < 29; ++i) samples.add(1);
  EXPECT_FALSE(samples.p95());
  samples.add(1);
  EXPECT_EQ(samples.p95(), 1);
}

TEST(CoreSamples, LeaveOutThePeaksAndForgetWhatWasAMinuteAgo) {
  CoreSamples samples;
  for (int i = 0; i < 60; ++i) samples.add(100);
  for (int i = 1; i <= 60; ++i) samples.add(i);
  EXPECT_EQ(samples.p95(), 57);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
