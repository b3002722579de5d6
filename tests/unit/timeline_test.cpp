// A camera's timeline: what its source says, and what becomes of it.
#include "app/rings/timeline.h"

#include <gtest/gtest.h>

#include "app/source/source_clock.h"
#include "core/retry_wait.h"

namespace campipe {
namespace CAMPIPE_FILE {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1000 * ms;
constexpr std::int64_t frame = 40 * ms;

// A source at 25 fps; what it says is `time`, and what arrives, `arrival`.
struct Feed {
  explicit Feed(bool is_live) : live(is_live), clock(is_live) {
    if (!live) clock.begin(0, 0);
  }
  Timeline::Time next(bool confirmed = false) {
    time += frame;
    arrival += frame;
    return again(frame, confirmed);
  }
  // At the same time and arrival as they are.
  Timeline::Time again(std::int64_t waited, bool confirmed = false) {
    clocked = clock.observe(
        {.source = time, .duration = frame, .arrival = arrival, .waited = waited, .leap_confirmed = confirmed});
    const Timeline::Time got = line.next(Timeline::Mapped{time, clock.map(time)}, frame);
    EXPECT_GT(got.pts, newest);
    newest = got.pts;
    return got;
  }
  void run(int frames) {
    for (int i = 0; i < frames; ++i) {
      EXPECT_FALSE(next().correction);
      EXPECT_FALSE(clocked);
    }
  }
  void expect_corrected(Correction kind) {
    ASSERT_TRUE(clocked);
    EXPECT_EQ(clocked->kind, kind);
  }
  bool live;
  SourceClock clock;
  Timeline line;
  std::optional<SourceClock::Corrected> clocked;
  std::int64_t time = -frame;
  std::int64_t arrival = 77 * second;
  std::int64_t newest = -1;
};

TEST(Timeline, LeavesWhatIsRight) {
  Feed file(false);
  file.run(100);
  EXPECT_EQ(file.newest, 99 * frame);
  file.time += 5 * second;  // a gap that a file may have
  file.run(1);
  EXPECT_EQ(file.newest, 100 * frame + 5 * second);
}

TEST(Timeline, KeepsALongGapOfAFileThatIsConfirmed) {
  Feed file(false);
  file.run(10);
  EXPECT_FALSE(file.clock.leaps(file.time + 5 * second));
  EXPECT_TRUE(file.clock.leaps(file.time + 60 * second));
  file.time += 60 * second;
  file.next(true);
  EXPECT_FALSE(file.clocked);
  EXPECT_EQ(file.newest, 10 * frame + 60 * second);
  file.run(10);
}

TEST(Timeline, BeginsALiveSourceAtNothing) {
  Feed camera(true);
  camera.time = 123456 * second;
  camera.run(1);
  EXPECT_EQ(camera.newest, 0);
  camera.run(50);
  EXPECT_EQ(camera.newest, 50 * frame);
}

TEST(Timeline, CountsOnWhereATimestampIsMissing) {
  Feed file(false);
  file.run(10);
  const auto got = file.line.next(std::nullopt, frame);
  EXPECT_EQ(got.correction, Correction::missing);
  EXPECT_EQ(got.pts, 10 * frame);
  file.time += frame;
  file.newest = got.pts;
  file.run(10);
}

TEST(Timeline, TakesASmallestStepForARepeatedTimestampAndForASlip) {
  for (const bool live : {false, true}) {
    Feed feed(live);
    feed.run(10);
    feed.time -= frame;
    EXPECT_EQ(feed.next().correction, Correction::repeated);
    feed.run(5);
    feed.time -= 3 * frame;
    EXPECT_EQ(feed.next().correction, Correction::backwards);
    EXPECT_FALSE(feed.clocked);
    feed.time += 3 * frame;
    feed.run(5);
    EXPECT_EQ(feed.newest, feed.time);
  }
}

TEST(Timeline, GoesOnAfterAJumpBackOrAWrap) {
  for (const bool live : {false, true}) {
    for (const std::int64_t back : {2 * second, 95443 * second}) {
      Feed feed(live);
      if (live) feed.time += 100000 * second;
      if (!live) feed.clock.begin(100000 * second, 0);
      if (!live) feed.time += 100000 * second;
      feed.next();
      feed.run(9);
      const std::int64_t before = feed.newest;
      feed.time -= back;
      EXPECT_FALSE(feed.next().correction);
      feed.expect_corrected(Correction::backwards);
      EXPECT_EQ(feed.newest, before + frame);
      feed.run(20);
      EXPECT_EQ(feed.newest, before + 21 * frame);
    }
  }
}

TEST(Timeline, GoesOnAfterAJumpAhead) {
  for (const bool live : {false, true}) {
    for (const std::int64_t ahead : {3600 * second, 48 * 3600 * second}) {
      Feed feed(live);
      feed.run(10);
      const std::int64_t before = feed.newest;
      feed.time += ahead;
      feed.next(ahead > 30 * 3600 * second);  // nothing confirms two days
      feed.expect_corrected(Correction::jumped);
      EXPECT_EQ(feed.newest, before + frame);
      feed.run(20);
      EXPECT_EQ(feed.newest, before + 21 * frame);
    }
  }
}

TEST(Timeline, KeepsTheTimesOfWhatAStallHeldUp) {
  Feed camera(true);
  camera.run(10);
  const std::int64_t before = camera.newest;
  camera.arrival += 8 * second;  // nothing came, and then all at once
  for (int i = 0; i < 200; ++i) {
    camera.time += frame;
    EXPECT_FALSE(camera.again(0).correction);
    EXPECT_FALSE(camera.clocked);
    EXPECT_EQ(camera.newest, before + (i + 1) * frame);
  }
}

// A server that has no room for what a stall holds up throws a part of it away.
TEST(Timeline, KeepsTheGapInWhatAStallHeldUp) {
  Feed camera(true);
  camera.run(100);
  camera.arrival += 8 * second;
  for (int i = 0; i < 20; ++i) {
    camera.time += frame;
    camera.again(0);
  }
  camera.time += 7 * second;
  for (int i = 0; i < 5; ++i) {
    camera.time += frame;
    EXPECT_FALSE(camera.again(0).correction);
    EXPECT_FALSE(camera.clocked);
    EXPECT_EQ(camera.newest, camera.time);
  }
  camera.run(100);
  EXPECT_EQ(camera.newest, camera.time);
}

TEST(Timeline, GoesOnAfterAReconnectionByHowLongItTook) {
  Feed camera(true);
  camera.run(10);
  const std::int64_t before = camera.newest;
  camera.clock.reconnect();
  EXPECT_EQ(camera.clock.map_beside(camera.time, camera.arrival), std::nullopt);
  camera.time = 5 * second;  // another clock
  camera.arrival += 7 * second;
  camera.run(1);
  EXPECT_EQ(camera.newest, before + 7 * second + frame);
  EXPECT_EQ(camera.clock.map_beside(camera.time, camera.arrival), camera.newest);
  camera.run(10);
}

TEST(Timeline, GoesOnAfterARestartByHowLongItTook) {
  Feed camera(true);
  camera.run(10);
  Feed next(true);
  next.clock.resume(camera.newest, camera.clock.origin());
  next.line.set_last(camera.newest, 0);
  next.newest = camera.newest;
  next.arrival = camera.arrival + 2 * second;
  next.run(1);
  EXPECT_EQ(next.newest, camera.newest + 2 * second + frame);
}

TEST(Timeline, FollowsTheDriftOfACamerasClockAndReportsIt) {
  Feed camera(true);
  for (int i = 0; i < 25 * 60; ++i) {
    camera.time += frame / 1000;  // 0.1 % too fast
    camera.next();
    EXPECT_FALSE(camera.clocked);
  }
  EXPECT_NEAR(static_cast<double>(camera.clock.drift()), 0.001 * 30e9, 0.001 * 12e9);  // after the first 30 s
  Feed good(true);
  for (int i = 0; i < 25 * 60; ++i) {
    good.arrival += (i % 7) * ms;  // late, but never early
    good.time += frame;
    good.again(frame);
    good.arrival += frame - (i % 7) * ms;
  }
  EXPECT_LT(std::abs(good.clock.drift()), 10 * ms);
}

// Its clock jumps, and the audio shows that before the video does.
TEST(Timeline, AudioWaitsForTheVideoAfterAJump) {
  SourceClock clock(true);
  EXPECT_EQ(clock.map_beside(0, 0), std::nullopt);
  constexpr std::int64_t begin = 50'000 * ms;
  for (int i = 0; i < 10; ++i) clock.observe({.source = begin + i * frame, .arrival = i * frame});
  EXPECT_EQ(clock.map_beside(begin + 10 * frame, 10 * frame), 10 * frame);
  constexpr std::int64_t jump = 3'600'000 * ms;
  EXPECT_EQ(clock.map_beside(begin + jump + 10 * frame, 10 * frame), std::nullopt);
  clock.observe({.source = begin + jump + 10 * frame, .arrival = 10 * frame});
  EXPECT_EQ(clock.map_beside(begin + jump + 11 * frame, 11 * frame), 11 * frame);
  // What was on its way is where it was.
  EXPECT_EQ(clock.map_beside(begin + 10 * frame, 11 * frame), 10 * frame);
  // Frames may be rare.
  EXPECT_EQ(clock.map_beside(begin + jump + 500 * frame, 500 * frame), 500 * frame);
}

// Frames leave the decoder behind packets that are decoded later: why there are two, see timeline.h.
TEST(Timeline, FramesAndPacketsNeedOneEach) {
  constexpr int held = 8;       // packets by the decoder
  constexpr int reordered = 2;  // frames: shown so much later than decoded
  const auto count_moved = [](Timeline& packets, Timeline& frames) {
    int moved = 0;
    for (int i = 0; i < 50; ++i) {
      const std::int64_t dts = i * frame;
      moved += packets.next(Timeline::Mapped{dts, dts}, frame).pts == dts ? 0 : 1;
      if (i < held) continue;
      const std::int64_t pts = (i - held + reordered) * frame;
      moved += frames.next(Timeline::Mapped{pts, pts}, frame).pts == pts ? 0 : 1;
    }
    return moved;
  };
  Timeline packets;
  Timeline frames;
  EXPECT_EQ(count_moved(packets, frames), 0);
  Timeline common;
  EXPECT_EQ(count_moved(common, common), 50 - held) << "every frame";
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

}  // namespace CAMPIPE_FILE
}  // namespace campipe
