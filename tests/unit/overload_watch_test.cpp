#include "app/supervisor/show/overload_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace campipe {
namespace CAMPIPE_FILE {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(OverloadWatch, LooksAtTheLastTenSeconds) {
  const Clock::time_point start = Clock::now();
  OverloadWatch watch;
  const auto look = [&](int second, std::uint64_t decoded, std::uint64_t queue_full) {
    return watch.look_at("dock", 2, {decoded, queue_full}, start + seconds(second)).problem;
  };
  EXPECT_THAT(look(0, 1000, 900), IsEmpty()) << "of before";
  EXPECT_THAT(look(5, 1125, 960), IsEmpty());
  EXPECT_THAT(look(10, 1250, 1000), HasSubstr("worker 2 is overloaded: 100 of 250 frames"));
  EXPECT_THAT(look(15, 1375, 1000), HasSubstr("overloaded")) << "until ten seconds have passed";
  EXPECT_THAT(look(20, 1500, 1010), IsEmpty()) << "one of 25 frames";
  EXPECT_THAT(look(30, 1500, 1010), IsEmpty()) << "nothing came";
  EXPECT_THAT(look(40, 10, 5), IsEmpty()) << "another camera of that name";
}

TEST(OverloadWatch, NamesWhatIsPossible) {
  const Clock::time_point start = Clock::now();
  OverloadWatch watch;
  const auto advice = [&](const std::string& camera, bool may_copy) {
    watch.look_at(camera, 0, {.may_copy = may_copy}, start);
    return watch.look_at(camera, 0, {.decoded = 100, .queue_full = 50, .may_copy = may_copy}, start + seconds(10))
        .problem;
  };
  EXPECT_THAT(advice("dock", true), HasSubstr("use `codec: copy`, a smaller size, a lower rate"));
  EXPECT_THAT(advice("wall", false), HasSubstr("use a smaller size, a lower rate"));
}

// What is lost meanwhile is the fault of what stopped it, and no smaller size would help.
TEST(OverloadWatch, DoesNotJudgeAWorkerThatWasAwayOrStoodStill) {
  const Clock::time_point start = Clock::now();
  OverloadWatch watch;
  const auto look = [&](int second, std::uint64_t queue_full, unsigned restarts, bool is_still) {
    const auto decoded = static_cast<std::uint64_t>(second * 25);
    return watch
        .look_at("dock", 0, {.decoded = decoded, .queue_full = queue_full, .restarts = restarts, .is_still = is_still},
                 start + seconds(second))
        .problem;
  };
  EXPECT_THAT(look(0, 0, 0, false), IsEmpty());
  EXPECT_THAT(look(8, 25, 0, true), IsEmpty());
  EXPECT_THAT(look(9, 40, 1, false), IsEmpty()) << "it was killed for that";
  EXPECT_THAT(look(10, 40, 1, false), IsEmpty());
  EXPECT_THAT(look(19, 40, 1, false), IsEmpty());
  EXPECT_THAT(look(29, 90, 1, false), HasSubstr("worker 0 is overloaded: 50 of 250 frames"));
  EXPECT_THAT(look(30, 90, 2, true), HasSubstr("overloaded")) << "until ten seconds have passed";
}

// With `drop_policy: block` nothing is dropped.
TEST(OverloadWatch, NoticesASourceThatFallsBehind) {
  const Clock::time_point start = Clock::now();
  OverloadWatch watch;
  const auto look = [&](int second, bool is_full) {
    const auto decoded = static_cast<std::uint64_t>(second * 10);
    return watch.look_at("dock", 1, {.decoded = decoded, .is_full = is_full}, start + seconds(second)).problem;
  };
  for (int second = 0; second < 10; ++second) EXPECT_THAT(look(second, true), IsEmpty());
  EXPECT_THAT(look(10, true), HasSubstr("worker 1 is overloaded: the source waits for it (drop_policy: block)"));
  for (int second = 11; second < 20; ++second) EXPECT_THAT(look(second, second != 15), HasSubstr("overloaded"));
  EXPECT_THAT(look(20, true), IsEmpty()) << "it had room in between";
}

// Wherever the time is spent: a queue that is not full before a decoder that is too slow.
TEST(OverloadWatch, SaysHowFarAStreamIsBehindAndSinceWhen) {
  const Clock::time_point start = Clock::now();
  OverloadWatch watch;
  const auto look = [&](int second, int behind, bool is_full = false) {
    const WorkerLoad load{.decoded = static_cast<std::uint64_t>(second * 10),
                          .is_full = is_full,
                          .behind = seconds(behind),
                          .may_drop = true};
    return watch.look_at("dock", 0, load, start + seconds(second));
  };
  EXPECT_THAT(look(0, 60).problem, IsEmpty()) << "of before";
  EXPECT_THAT(look(10, 2).problem, IsEmpty());
  const std::int64_t before = utc_now_ns();
  const Overload first = look(20, 51);
  EXPECT_THAT(first.problem, HasSubstr("too slow: the stream is 51 s behind its source; use `drop_policy: drop`"));
  EXPECT_GE(first.since_utc, before);
  EXPECT_LE(first.since_utc, utc_now_ns());
  const Overload second = look(30, 61);
  EXPECT_THAT(second.problem, HasSubstr("61 s behind"));
  EXPECT_EQ(second.since_utc, first.since_utc);
  for (int i = 31; i < 40; ++i) look(i, 70, true);
  EXPECT_THAT(look(40, 71, true).problem,
              HasSubstr("the source waits for it (drop_policy: block), and the stream is 71"));
  EXPECT_THAT(look(50, 1).problem, IsEmpty());
  EXPECT_GE(look(60, 5).since_utc, first.since_utc);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
