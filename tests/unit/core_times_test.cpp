#include "app/control/core_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr auto text =
    "cpu  40 600 60 1300 200 0 0 0 0 0\n"
    "cpu0 10 200 20 300 100 0 0 0 0 0\n"
    "cpu12 30 400 40 1000 100 7 8 9 0 0\n"
    "intr 12345 0 0\nctxt 99\n";

TEST(CoreTimes, AreWhatIsIdleOrWaitsForDisks) {
  EXPECT_THAT(parse_idle_times(text, 100, false), ElementsAre(Pair(0U, 4), Pair(12U, 11)));
}

TEST(CoreTimes, ProgramsOfALowerPriorityGiveWay) {
  EXPECT_THAT(parse_idle_times(text, 100, true), ElementsAre(Pair(0U, 6), Pair(12U, 15)));
}

TEST(CoreTimes, NothingOfWhatIsNoSuchText) {
  for (const char* garbage :
       {"", "cpu\n", "cpu0\n", "cpu0 1 2\n", "cpux 1 2 3 4 5\n", "cpu1x 1 2 3 4 5\n", "cpu-1 1 2 3 4 5\n"})
    EXPECT_THAT(parse_idle_times(garbage, 100, true), IsEmpty()) << garbage;
}

TEST(CoreTimes, OfThisMachine) {
  const CoreTimes times = read_idle_times();
  ASSERT_FALSE(times.empty());
  for (const auto& [core, seconds] : times) EXPECT_GE(seconds, 0) << core;
}

TEST(CpuSeconds, OfThisProcessGrow) {
  const double before = cpu_seconds_of(::getpid());
  while (cpu_seconds_of(::getpid()) < before + 0.05) continue;
  EXPECT_EQ(cpu_seconds_of(-1), 0);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
