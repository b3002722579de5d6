// A zone that the C library does not know is named.
#include "core/time_zone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace campipe {
namespace CAMPIPE_FILE {

using testing::HasSubstr;

class TimeZone : public testing::Test {
 protected:
  ~TimeZone() override {
    ::unsetenv("TZ");
    ::tzset();
  }
  static std::string problem_of(const std::string& zone) {
    ::setenv("TZ", zone.c_str(), 1);
    ::tzset();
    return time_zone_problem();
  }
};

TEST_F(TimeZone, ThatIsKnownIsNoProblem) {
  ::unsetenv("TZ");
  EXPECT_EQ(time_zone_problem(), "");
  for (const std::string zone :
       {"", ":", "UTC", "UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", ":CET-1CEST", "<+0330>-3:30", "EST5EDT"})
    EXPECT_EQ(problem_of(zone), "") << zone;
}

// The problem is that of the C library: it takes them for UTC.
TEST_F(TimeZone, ThatIsNotKnownIsNamed) {
  for (const std::string zone :
       {"Europe/Berlln", "Mars/Olympus", ":Nowhere", "CET", "../../etc/passwd", "Berlin Time"}) {
    const std::string problem = problem_of(zone);
    if (problem.empty()) {  // "CET" is there where tzdata is
      EXPECT_EQ(zone, "CET");
      continue;
    }
    EXPECT_THAT(problem, HasSubstr("tzdata")) << zone;
    EXPECT_EQ(timezone, 0) << zone;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
