#include "app/supervisor/overload_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace campipe {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(OverloadWatch, LooksAtTheLastTenSeconds) {
  const Clock::time_point start = Clock::now();
  OverloadWatch watch;
  const auto look = [&](int second, std::uint64_t decoded, std::uint64_t queue_full) {
    return watch.look_at("dock", 2, decoded, queue_full, start + seconds(second));
  };
  EXPECT_THAT(look(0, 1000, 900), IsEmpty()) << "of before";
  EXPECT_THAT(look(5, 1125, 960), IsEmpty());
  EXPECT_THAT(look(10, 1250, 1000), HasSubstr("worker 2 is overloaded: 100 of 250 frames"));
  EXPECT_THAT(look(15, 1375, 1000), HasSubstr("overloaded")) << "until ten seconds have passed";
  EXPECT_THAT(look(20, 1500, 1010), IsEmpty()) << "one of 25 frames";
  EXPECT_THAT(look(30, 1500, 1010), IsEmpty()) << "nothing came";
  EXPECT_THAT(look(40, 10, 5), IsEmpty()) << "another camera of that name";
}

}  // namespace
}  // namespace campipe
