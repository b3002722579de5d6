// Cameras whose clocks run at another rate than said, stand still or jump, over hours of virtual time: where their
// packets lie, by when they were taken.
#include "app/source/track_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "app/source/source_clock.h"

namespace campipe {
namespace CAMPIPE_FILE {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1000 * ms;
constexpr std::int64_t hour = 3600 * second;
using Trust = TrackClock::Trust;

// A camera, an even network with some jitter, and what comes of its timestamps on the stream's timeline.
class Camera {
 public:
  explicit Camera(double frame_rate, double clock_rate = 1, std::int64_t jitter = 50 * ms, bool by_arrival = false)
      : step_(static_cast<std::int64_t>(1e9 / frame_rate)), rate(clock_rate), jitter_(jitter), track(by_arrival) {}

  void run(std::int64_t time) {
    for (const std::int64_t until = now_ + time; now_ < until; now_ += step_) send(now_);
  }
  // Nothing comes through for so long, and then all at once.
  void stall(std::int64_t time) {
    const std::int64_t until = now_ + time;
    for (; now_ < until; now_ += step_) send(until);
  }
  // So much of the time comes through; the rest waits, and comes when this is over.
  void run_slowly(std::int64_t time, double part) {
    const std::int64_t begin = now_;
    for (const std::int64_t until = now_ + time; now_ < until; now_ += step_)
      send(std::min(begin + static_cast<std::int64_t>(static_cast<double>(now_ - begin) / part), until));
  }
  void set_clock(std::int64_t by) { clock_ += static_cast<double>(by); }

  // How far apart the errors of the frames lie that were taken since `begin`, ns after the first one.
  [[nodiscard]] std::int64_t error_since(std::int64_t begin) const {
    std::int64_t most = INT64_MIN;
    std::int64_t least = INT64_MAX;
    for (const Frame& frame : frames) {
      if (frame.taken < first + begin) continue;
      most = std::max(most, frame.at - frame.taken);
      least = std::min(least, frame.at - frame.taken);
    }
    return most - least;
  }

  struct Frame {
    std::int64_t taken = 0;
    std::int64_t source = 0;
    std::int64_t corrected = 0;  // by the track's clock alone
    std::int64_t at = 0;         // on the timeline
    std::int64_t arrival = 0;
  };
  static constexpr std::int64_t first = 1000 * second;

 private:
  void send(std::int64_t through) {
    clock_ += static_cast<double>(now_ - last_) * rate;
    last_ = now_;
    const double noise = std::uniform_real_distribution<double>(0, 1)(random_);
    const auto delay = 5 * ms + static_cast<std::int64_t>(noise * noise * static_cast<double>(jitter_));
    const std::int64_t before = arrival_;
    arrival_ = std::max(arrival_ + ms / 2, std::max(now_, through) + delay);
    const auto source = static_cast<std::int64_t>(clock_);
    const std::int64_t waited = before == 0 ? 0 : arrival_ - before;
    if (track.observe({source, arrival_, waited})) ++changes;
    const std::int64_t corrected = track.map(source);
    if (timeline_.observe({.source = corrected, .arrival = arrival_, .waited = waited})) ++corrections;
    frames.push_back({now_, source, corrected, timeline_.map(corrected), arrival_});
  }

  std::int64_t step_;

 public:
  double rate;  // of its clock

 private:
  std::int64_t jitter_;
  std::mt19937 random_{1};
  std::int64_t now_ = first;
  std::int64_t last_ = first;
  double clock_ = 77e9;
  std::int64_t arrival_ = 0;
  SourceClock timeline_{true};

 public:
  TrackClock track;
  std::vector<Frame> frames;
  int changes = 0;
  int corrections = 0;  // of the timeline's own clock
};

class AnyRate : public testing::TestWithParam<double> {};

TEST_P(AnyRate, IsLearnedWithinSecondsAndStaysInSyncForHours) {
  const double off = std::abs(GetParam() - 1);
  for (const double frames : {25.0, 10.0}) {
    Camera camera(frames, GetParam());
    camera.run(14 * second);
    // The rest is left to the timeline's clock.
    EXPECT_EQ(camera.track.trust(), off < 0.02 ? Trust::right : Trust::rate) << frames;
    camera.run(4 * hour);
    EXPECT_LE(camera.error_since(off > 0.2 ? 5 * second : 10 * second), 200 * ms) << frames;
    EXPECT_LE(camera.changes, 1) << frames;
    EXPECT_NEAR(camera.track.rate(), camera.track.trust() == Trust::rate ? GetParam() : 1, 0.003);
  }
}

INSTANTIATE_TEST_SUITE_P(Rates, AnyRate, testing::Values(0.5, 0.8333, 0.97, 0.999, 1.0005, 1.03, 1.2, 2.0));

TEST(TrackClock, LearnsFromAFewFramesOfASlowCamera) {
  for (const double rate : {0.5, 0.8333, 1.2}) {
    Camera camera(1, rate, 20 * ms);
    camera.run(7 * second);
    EXPECT_EQ(camera.track.trust(), Trust::rate) << rate;
    camera.run(hour);
    EXPECT_LE(camera.error_since(8 * second), 200 * ms) << rate;
  }
}

// As one that counts milliseconds and says it were 90 kHz, and one that does not count at all.
TEST(TrackClock, ByArrivalWhereTheClockStandsStillOrAlmost) {
  for (const double rate : {0.0, 1000.0 / 90000, 90.0}) {
    for (const double frames : {25.0, 10.0, 1.0}) {
      Camera camera(frames, rate, 20 * ms);
      camera.run(6 * second);
      EXPECT_EQ(camera.track.trust(), Trust::none) << rate << ", " << frames;
      EXPECT_EQ(camera.track.why(), rate > 1 ? TrackClock::Why::jumps : TrackClock::Why::rate);
      camera.run(2 * hour);
      EXPECT_EQ(camera.changes, 1);
      EXPECT_LE(camera.error_since(6 * second), 200 * ms) << rate << ", " << frames;
      const auto& all = camera.frames;
      for (std::size_t i = all.size() / 2; i < all.size(); ++i)
        ASSERT_NEAR(static_cast<double>(all[i].at - all[i - 1].at), 1e9 / frames, 25e6);
    }
  }
}

TEST(TrackClock, ComesBackWhenTheClockIsRightAgain) {
  for (const double wrong : {0.0, 0.5, 2.0}) {
    Camera camera(25, wrong);
    camera.run(60 * second);
    EXPECT_NE(camera.track.trust(), Trust::right);
    camera.rate = 1;
    camera.run(60 * second);
    EXPECT_EQ(camera.track.trust(), Trust::right) << wrong;
    EXPECT_FALSE(camera.track.leaves_all());
    camera.run(hour);
    EXPECT_LE(camera.error_since(100 * second), 200 * ms) << wrong;
    EXPECT_EQ(camera.changes, 2) << wrong;
  }
}

TEST(TrackClock, FollowsAClockThatGoesWrongAfterHours) {
  for (const double rate : {0.0, 0.5, 0.97, 1.03, 2.0}) {
    Camera camera(25);
    camera.run(2 * hour);
    EXPECT_EQ(camera.changes, 0);
    camera.rate = rate;
    camera.run(30 * second);
    EXPECT_EQ(camera.track.trust(), rate < 0.2 ? Trust::none : Trust::rate) << rate;
    camera.run(hour);
    EXPECT_LE(camera.error_since(2 * hour + 30 * second), 200 * ms) << rate;
  }
}

// Not one timestamp of it is changed.
TEST(TrackClock, LeavesAClockThatIsRightWhateverTheNetworkDoes) {
  for (const double frames : {25.0, 60.0, 5.0, 1.0}) {
    for (const double drift : {0.9995, 1.0, 1.0001}) {
      Camera camera(frames, drift, 150 * ms);
      camera.stall(3 * second);  // what was sent before the connection
      camera.run(30 * second);
      for (int i = 0; i < 40; ++i) {
        camera.stall((i % 8) * second);
        camera.run((1 + i % 13) * second);
      }
      camera.set_clock(hour);
      camera.run(40 * second);
      camera.set_clock(-2 * hour);
      camera.run(hour);
      EXPECT_TRUE(camera.track.leaves_all()) << frames << ", " << drift;
      EXPECT_EQ(camera.changes, 0);
      EXPECT_TRUE(
          std::ranges::all_of(camera.frames, [](const auto& frame) { return frame.source == frame.corrected; }));
    }
  }
}

// Half of what is sent comes through for some seconds, and then all that it held up.
TEST(TrackClock, ASlowNetworkIsNoSlowClock) {
  for (const std::int64_t slow : {3 * second, 8 * second}) {
    TrackClock clock(false);
    std::int64_t arrival = 0;
    for (std::int64_t i = 0; i < 2500; ++i) {
      const std::int64_t taken = i * 40 * ms;
      const bool held_up = taken >= 20 * second && taken < 20 * second + slow / 2;
      const std::int64_t before = arrival;
      arrival = std::max(taken, arrival + (held_up ? 80 : 30) * ms);
      EXPECT_FALSE(clock.observe({taken, arrival, arrival - before})) << i;
    }
    EXPECT_TRUE(clock.leaves_all());
  }
}

// What waits to be read grows as the lag of a slow clock does, and is read as that of a fast one.
// What it holds up comes at once when it is quick again: then all lies where it did before.
TEST(TrackClock, ASlowNetworkThatCatchesUpIsTakenBack) {
  struct Slow {
    double part;
    int seconds;
    int before;
  };
  for (const auto& [part, seconds, before] :
       {Slow{0.3, 4, 5}, Slow{0.6, 6, 5}, Slow{0.7, 8, 15}, Slow{0.8, 10, 5}, Slow{0.9, 14, 5}, Slow{0.5, 20, 30}}) {
    for (const double frames : {10.0, 25.0}) {
      SCOPED_TRACE(std::to_string(part) + " for " + std::to_string(seconds) + " s, " + std::to_string(frames));
      Camera camera(frames);
      camera.run(before * second);
      camera.run_slowly(seconds * second, part);
      camera.run(20 * second);
      const auto at = [&](std::int64_t taken) {
        const auto frame = std::ranges::lower_bound(camera.frames, Camera::first + taken, {}, &Camera::Frame::taken);
        return frame->at - frame->taken;
      };
      EXPECT_NEAR(static_cast<double>(at((before + seconds + 2) * second) - at(second)), 0, 200.0 * ms);
      EXPECT_EQ(camera.track.trust(), Trust::right);
      EXPECT_TRUE(std::ranges::is_sorted(camera.frames, std::less_equal(), &Camera::Frame::corrected));
    }
  }
}

TEST(TrackClock, AMachineThatIsTooSlowSeesNoClock) {
  TrackClock clock(false);
  std::int64_t arrival = 0;
  for (std::int64_t i = 0; i < 5000; ++i) {
    const std::int64_t taken = i * 40 * ms;
    arrival = std::max(taken, arrival + (i < 1000 ? 60 : 20) * ms);
    EXPECT_FALSE(clock.observe({taken, arrival, 0})) << i;
  }
}

TEST(TrackClock, ByArrivalWhereTheClockJumpsAgainAndAgain) {
  Camera camera(10);
  for (int i = 0; i < 20; ++i) {
    camera.run(2 * second);
    camera.set_clock(i % 2 == 0 ? hour : -hour);
  }
  EXPECT_EQ(camera.track.trust(), Trust::none);
  EXPECT_EQ(camera.track.why(), TrackClock::Why::jumps);
  EXPECT_LE(camera.error_since(15 * second), 200 * ms);
  camera.run(50 * second);
  EXPECT_EQ(camera.track.trust(), Trust::right);
  EXPECT_EQ(camera.changes, 2);
}

// Sender reports set the clock of a camera that counts half as fast as it says, every five seconds.
TEST(TrackClock, ByArrivalWhereReportsSetAClockThatRunsSlow) {
  for (const std::int64_t reports : {second, 2 * second, 5 * second}) {
    Camera camera(25, 0.5, 20 * ms);
    for (int i = 0; i < 60; ++i) {
      camera.run(reports);
      camera.set_clock(reports / 2);
    }
    EXPECT_EQ(camera.track.trust(), reports > second ? Trust::none : Trust::right) << reports;
    const std::int64_t learned = 30 * second;
    EXPECT_LE(camera.error_since(learned), reports > second ? 200 * ms : second) << reports;
  }
}

TEST(TrackClock, ByArrivalWhereThatIsConfigured) {
  Camera camera(25, 0.7, 50 * ms, true);
  camera.run(hour);
  EXPECT_EQ(camera.changes, 0);
  EXPECT_LE(camera.error_since(0), 100 * ms);
  for (const auto& frame : camera.frames)
    ASSERT_LE(std::abs(frame.corrected - 77 * second - (frame.arrival - camera.frames.front().arrival)), 2 * ms);
}

// B-frames: decoded in the order 0 3 1 2 6 4 5 …, and some of them arrive together.
TEST(TrackClock, KeepsTheOrderInWhichFramesAreShown) {
  TrackClock clock(true);
  std::vector<std::pair<std::int64_t, std::int64_t>> shown;
  std::mt19937 random(1);
  std::int64_t arrival = 0;
  for (std::int64_t i = 0; i < 3000; ++i) {
    const std::int64_t decoded = i * 40 * ms;
    const std::int64_t rank = i == 0 ? 0 : i % 3 == 1 ? i + 2 : i - 1;
    const std::int64_t source = (rank + 1) * 40 * ms;
    arrival = std::max(arrival + ms / 4, decoded + std::uniform_int_distribution<std::int64_t>(0, 200)(random) * ms);
    clock.observe({decoded, arrival, 20 * ms});
    const std::int64_t at = clock.map_shown(source);
    shown.emplace_back(source, at);
  }
  std::ranges::sort(shown);
  for (std::size_t i = 1; i < shown.size(); ++i) ASSERT_LT(shown[i - 1].second, shown[i].second) << i;
}

TEST(TrackClock, TakesAnyTimes) {
  constexpr std::int64_t most = std::int64_t{1} << 61;
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    TrackClock clock(seed % 5 == 0);
    std::int64_t arrival = 0;
    std::int64_t source = 0;
    for (int i = 0; i < 5000; ++i) {
      const auto any = static_cast<std::int64_t>(random());
      source = i % 50 == 0 ? any >> 2 : std::clamp(source + (any >> (20 + any % 20)), -most, most);
      arrival += static_cast<std::int64_t>(random() % (80 * ms));
      clock.observe({source, arrival, static_cast<std::int64_t>(random() % (40 * ms))});
      ASSERT_LE(std::abs(clock.map(source)), most);
      ASSERT_LE(std::abs(clock.map_shown(source)), 2 * most);
    }
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
