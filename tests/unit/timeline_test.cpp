// A camera's time line: what its source tells, and what becomes of it.
#include "app/timeline.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/retry_wait.h"

namespace campipe {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1000 * ms;
constexpr std::int64_t frame = 40 * ms;

// A source at 25 fps; what it tells is `time`, and what arrives, `arrival`.
struct Feed {
  explicit Feed(bool live) : line(live) {
    if (!live) line.begin(0, 0);
  }
  Timeline::Time next() {
    time += frame;
    arrival += frame;
    const Timeline::Time got = line.next(time, frame, arrival);
    EXPECT_GT(got.pts, newest);
    newest = got.pts;
    return got;
  }
  void run(int pictures) {
    for (int i = 0; i < pictures; ++i) EXPECT_FALSE(next().mended);
  }
  Timeline line;
  std::int64_t time = -frame;
  std::int64_t arrival = 77 * second;
  std::int64_t newest = -1;
};

TEST(Timeline, LeavesWhatIsRight) {
  Feed file(false);
  file.run(100);
  EXPECT_EQ(file.newest, 99 * frame);
  file.time += 5 * second;  // a gap that a file may have
  EXPECT_FALSE(file.next().mended);
  EXPECT_EQ(file.newest, 100 * frame + 5 * second);
}

TEST(Timeline, BeginsALiveSourceAtNothing) {
  Feed camera(true);
  camera.time = 123456 * second;
  EXPECT_FALSE(camera.next().mended);
  EXPECT_EQ(camera.newest, 0);
  camera.run(50);
  EXPECT_EQ(camera.newest, 50 * frame);
}

TEST(Timeline, CountsOnWhereATimeIsMissing) {
  Feed file(false);
  file.run(10);
  const auto got = file.line.next(std::nullopt, frame, 0);
  EXPECT_EQ(got.mended, Mended::missing);
  EXPECT_EQ(got.pts, 10 * frame);
  file.time += frame;
  file.newest = got.pts;
  file.run(10);
}

TEST(Timeline, TakesASmallestStepForARepeatedTimeAndForASlip) {
  for (const bool live : {false, true}) {
    Feed feed(live);
    feed.run(10);
    feed.time -= frame;
    EXPECT_EQ(feed.next().mended, Mended::repeated);
    feed.run(5);
    feed.time -= 3 * frame;
    EXPECT_EQ(feed.next().mended, Mended::backwards);
    feed.time += 3 * frame;
    feed.run(5);
    EXPECT_EQ(feed.newest, feed.time);
  }
}

TEST(Timeline, GoesOnAfterAJumpBackOrAWrap) {
  for (const bool live : {false, true}) {
    for (const std::int64_t back : {2 * second, 95443 * second}) {
      Feed feed(live);
      feed.time += 100000 * second;
      feed.next();
      feed.run(9);
      const std::int64_t before = feed.newest;
      feed.time -= back;
      EXPECT_EQ(feed.next().mended, Mended::backwards);
      EXPECT_EQ(feed.newest, before + frame);
      feed.run(20);
      EXPECT_EQ(feed.newest, before + 21 * frame);
    }
  }
}

TEST(Timeline, GoesOnAfterAJumpAhead) {
  for (const bool live : {false, true}) {
    Feed feed(live);
    feed.run(10);
    const std::int64_t before = feed.newest;
    feed.time += 3600 * second;
    EXPECT_EQ(feed.next().mended, Mended::jumped);
    EXPECT_EQ(feed.newest, before + frame);
    feed.run(20);
    EXPECT_EQ(feed.newest, before + 21 * frame);
  }
}

TEST(Timeline, KeepsTheTimesOfWhatAStallHeldUp) {
  Feed camera(true);
  camera.run(10);
  const std::int64_t before = camera.newest;
  camera.arrival += 8 * second;  // nothing came, and then all at once
  for (int i = 0; i < 200; ++i) {
    camera.time += frame;
    const auto got = camera.line.next(camera.time, frame, camera.arrival);
    EXPECT_FALSE(got.mended);
    EXPECT_EQ(got.pts, before + (i + 1) * frame);
  }
}

TEST(Timeline, GoesOnAfterAReconnectionByHowLongItTook) {
  Feed camera(true);
  camera.run(10);
  const std::int64_t before = camera.newest;
  camera.line.reconnect();
  EXPECT_FALSE(camera.line.anchored());
  camera.time = 5 * second;  // another clock
  camera.arrival += 7 * second;
  EXPECT_FALSE(camera.next().mended);
  EXPECT_EQ(camera.newest, before + 7 * second + frame);
  EXPECT_TRUE(camera.line.anchored());
  camera.run(10);
}

TEST(Timeline, TellsTheDriftOfACamerasClock) {
  Feed camera(true);
  for (int i = 0; i < 25 * 60; ++i) {
    camera.time += frame / 1000;  // 0.1 % too fast
    camera.next();
  }
  EXPECT_NEAR(static_cast<double>(camera.line.drift()), 0.001 * 50e9, 0.001 * 12e9);
  Feed good(true);
  for (int i = 0; i < 25 * 60; ++i) {
    good.arrival += (i % 7) * ms;  // late, but never early
    good.line.next(good.time += frame, frame, good.arrival);
    good.arrival += frame - (i % 7) * ms;
  }
  EXPECT_LT(std::abs(good.line.drift()), 10 * ms);
}

// Its clock jumps, and sound shows that before a picture does.
TEST(Timeline, SoundWaitsForThePicturesAfterAJump) {
  Timeline line(true);
  EXPECT_EQ(line.map_beside(0, 0), std::nullopt);
  constexpr std::int64_t begin = 50'000 * ms;
  for (int i = 0; i < 10; ++i) line.next(begin + i * frame, frame, i * frame);
  EXPECT_EQ(line.map_beside(begin + 10 * frame, 10 * frame), 10 * frame);
  constexpr std::int64_t jump = 3'600'000 * ms;
  EXPECT_EQ(line.map_beside(begin + jump + 10 * frame, 10 * frame), std::nullopt);
  line.next(begin + jump + 10 * frame, frame, 10 * frame);
  EXPECT_EQ(line.map_beside(begin + jump + 11 * frame, 11 * frame), 11 * frame);
  // Pictures may be rare.
  EXPECT_EQ(line.map_beside(begin + jump + 500 * frame, 500 * frame), 500 * frame);
}

TEST(RetryWait, DoublesUpToTheLongestWithJitter) {
  RetryWait wait(std::chrono::seconds(1), std::chrono::seconds(5));
  for (const int base : {1, 2, 4, 5, 5}) {
    const double got = std::chrono::duration<double>(wait.next(false)).count();
    EXPECT_GE(got, 0.8 * base);
    EXPECT_LE(got, 1.2 * base);
  }
  wait.reset();
  EXPECT_LE(wait.next(false), std::chrono::milliseconds(1200));
  EXPECT_GE(wait.next(true), std::chrono::seconds(4));
}

}  // namespace
}  // namespace campipe
