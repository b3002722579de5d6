// The clock that the grid of key frames goes by.
#include "app/rings/media_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace campipe {
namespace CAMPIPE_FILE {

constexpr auto arrival = CaptureClock::arrival;
constexpr auto camera = CaptureClock::camera;
constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1000 * ms;
constexpr std::int64_t utc = 1'800'000'000 * second;
constexpr std::int64_t step = 40 * ms;

TEST(MediaClock, BeginsWithWhatTheFirstPacketShows) {
  MediaClock clock;
  EXPECT_EQ(clock.offset(), 0);
  clock.measure(utc, arrival, 5 * second);
  EXPECT_EQ(clock.offset(), utc);
}

TEST(MediaClock, HardlyFollowsJitter) {
  std::mt19937 random(1);
  MediaClock clock;
  clock.measure(utc, arrival, 0);
  std::int64_t largest = 0;
  for (int i = 1; i < 10'000; ++i) {
    const std::int64_t before = clock.offset();
    clock.measure(utc + static_cast<std::int64_t>(random() % 41) * ms - 20 * ms, arrival, i * step);
    EXPECT_LE(std::abs(clock.offset() - before), step / 200);
    largest = std::max(largest, std::abs(clock.offset() - utc));
  }
  EXPECT_LE(largest, 20 * ms);
}

TEST(MediaClock, FollowsWhatNtpSlews) {
  MediaClock clock;
  clock.measure(utc, arrival, 0);
  for (std::int64_t at = 0; at <= 26 * second; at += step) clock.measure(utc + 128 * ms, arrival, at);
  EXPECT_EQ(clock.offset(), utc + 128 * ms);
}

// Whatever is set, media time grows with the stream, by 0.5 % more or less.
TEST(MediaClock, FollowsNoClockThatIsSet) {
  for (const std::int64_t by : {-3600 * second, 3600 * second, -utc}) {
    MediaClock clock;
    clock.measure(utc, arrival, 0);
    std::int64_t last = utc;
    for (std::int64_t at = step; at <= 100 * second; at += step) {
      clock.measure(utc + by, arrival, at);
      const std::int64_t time = at + clock.offset();
      EXPECT_GE(time - last, step - step / 200);
      EXPECT_LE(time - last, step + step / 200);
      last = time;
    }
    EXPECT_NE(clock.offset(), utc);
  }
}

// Packets that come all at once after a stall show it often, but it follows by the time in the stream.
TEST(MediaClock, FollowsByTheTimeThatPassesInTheStream) {
  MediaClock clock;
  clock.measure(utc, arrival, 10 * second);
  for (int i = 0; i < 1000; ++i) clock.measure(utc + second, arrival, 10 * second - i % 2 * second);
  EXPECT_EQ(clock.offset(), utc);
  clock.measure(utc + second, arrival, 12 * second);
  EXPECT_EQ(clock.offset(), utc + 10 * ms);
}

TEST(MediaClock, TakesTheCamerasOwnTimeAtOnceAndThenFollowsItAlone) {
  MediaClock clock;
  clock.measure(utc, arrival, 0);
  clock.measure(utc - 300 * ms, camera, step);
  EXPECT_EQ(clock.offset(), utc - 300 * ms);
  // A camera that does not say it for a while, and a clock that is set meanwhile.
  for (int i = 2; i < 1000; ++i) clock.measure(utc + 10 * second, arrival, i * step);
  EXPECT_EQ(clock.offset(), utc - 300 * ms);
  clock.measure(utc, camera, 1000 * step);
  EXPECT_EQ(clock.offset(), utc - 300 * ms + step / 200);
}

TEST(MediaClock, GoesOnWhereTheOneBeforeWas) {
  MediaClock clock;
  clock.resume(utc, arrival);
  clock.measure(utc + 500 * ms, arrival, 3600 * second);
  EXPECT_EQ(clock.offset(), utc);
  clock.measure(utc + 500 * ms, arrival, 3600 * second + step);
  EXPECT_EQ(clock.offset(), utc + step / 200);

  MediaClock by_camera;
  by_camera.resume(utc, camera);
  by_camera.measure(utc + 500 * ms, arrival, 0);
  by_camera.measure(utc + 500 * ms, arrival, second);
  EXPECT_EQ(by_camera.offset(), utc);
  by_camera.measure(utc + 500 * ms, camera, second + step);
  EXPECT_EQ(by_camera.offset(), utc + step / 200);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
