// Which set of a group a camera's frames belong to: simulations of cameras with drift and jitter.
#include "app/master/set_numbering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace campipe {
namespace CAMPIPE_FILE {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t utc = 1'800'000'000 * second;
constexpr int many = 100'000;

// A camera that gives frames at the group's rate, by its own clock.
struct Camera {
  double rate = 30;
  double phase = 0;                                     // of its frames behind the sets, in sets
  double drift = 0;                                     // its clock is slower by this part
  std::function<double()> jitter = [] { return 0.0; };  // in sets

  [[nodiscard]] std::int64_t time_of(int frame) const {
    const double sets = (frame + phase) * (1 + drift) + jitter();
    return utc + static_cast<std::int64_t>(std::llround(sets / rate * 1e9));
  }
};

struct Result {
  int dropped = 0;      // frames whose set had one already
  int skipped = 0;      // sets without a frame
  double farthest = 0;  // that a frame lay from its set, in sets
  std::uint64_t slips = 0;
};

// `jump`: is added to the clock from each frame on.
Result run(const Camera& camera, int frames, const std::function<std::int64_t(int)>& jump = nullptr) {
  SetNumbering numbering(camera.rate);
  Result result;
  std::int64_t clock = 0;
  std::optional<std::int64_t> last;
  for (int i = 0; i < frames; ++i) {
    if (jump) clock += jump(i);
    const std::int64_t time = camera.time_of(i) + clock;
    const auto number = numbering.number_of(time);
    if (!number) {
      ++result.dropped;
      continue;
    }
    if (last) {
      EXPECT_GT(*number, *last);
      result.skipped += static_cast<int>(*number - *last - 1);
    }
    last = number;
    const double at = static_cast<double>(time) * 1e-9 * camera.rate;
    result.farthest = std::max(result.farthest, std::abs(at - static_cast<double>(*number)));
  }
  result.slips = numbering.slips();
  return result;
}

// The nearest number, without a phase.
int dropped_without_phase(const Camera& camera, int frames) {
  std::int64_t last = 0;
  int dropped = 0;
  for (int i = 0; i < frames; ++i) {
    const auto number = std::llround(static_cast<double>(camera.time_of(i)) * 1e-9 * camera.rate);
    if (number <= last) ++dropped;
    last = std::max<std::int64_t>(last, number);
  }
  return dropped;
}

std::function<double()> uniform(double most, unsigned seed = 1) {
  return [random = std::mt19937(seed), spread = std::uniform_real_distribution(-most, most)]() mutable {
    return spread(random);
  };
}

std::function<double()> normal(double deviation, unsigned seed = 1) {
  return [random = std::mt19937(seed), spread = std::normal_distribution(0.0, deviation)]() mutable {
    return spread(random);
  };
}

constexpr double half_a_millisecond = 0.0005 * 30;  // in sets

TEST(SetNumbering, GivesEachFrameTheNextNumber) {
  for (const double rate : {5.0, 25.0, 30'000.0 / 1001, 60.0}) {
    for (const double phase : {0.0, 0.25, 0.499, 0.5, 0.501, 0.75}) {
      const Result result = run({.rate = rate, .phase = phase}, 10'000);
      EXPECT_EQ(result.dropped + result.skipped, 0) << rate << " " << phase;
      EXPECT_LE(result.farthest, 0.5001) << rate << " " << phase;
    }
  }
}

// What it is for: half-way between two sets, half a millisecond of jitter costs a quarter of the frames.
TEST(SetNumbering, LosesNothingInTheWorstPhase) {
  const auto camera = [] { return Camera{.phase = 0.5, .jitter = normal(half_a_millisecond)}; };
  EXPECT_GT(dropped_without_phase(camera(), many), many / 5);
  const Result result = run(camera(), many);
  EXPECT_EQ(result.dropped + result.skipped, 0);
  EXPECT_EQ(result.slips, 0U);
}

TEST(SetNumbering, LosesAtMostWhatDriftCosts) {
  for (const double drift : {0.0, 50e-6, -50e-6}) {
    for (const double phase : {0.0, 0.3, 0.5, 0.8}) {
      for (const auto& jitter : {normal(half_a_millisecond), uniform(0.25), uniform(0.25, 2)}) {
        SCOPED_TRACE("drift " + std::to_string(drift) + ", phase " + std::to_string(phase));
        const Result result = run({.phase = phase, .drift = drift, .jitter = jitter}, many);
        // 50 ppm of 100,000 frames are 5: one slip each, which leaves out a number, or a frame.
        // One more of each where the first frame was early or late by all of its jitter, until the phase is right.
        EXPECT_LE(result.slips, drift == 0 ? 1U : 6U);
        EXPECT_GE(result.slips, drift == 0 ? 0U : 4U);
        EXPECT_LE(result.dropped, drift < 0 ? 6 : 1);
        EXPECT_LE(result.skipped, drift > 0 ? 6 : 1);
        EXPECT_LE(result.farthest, 0.75 + 0.25 + 0.1);
      }
    }
  }
}

// The middle between two sets lies between the frames of the two, or not: those that are taken together are of one set.
TEST(SetNumbering, GoesWithAnotherCameraOfItsGroup) {
  for (const double first : {0.0, 0.3, 0.45, 0.5, 0.7, 0.95}) {
    for (const double apart : {-0.4, -0.2, 0.2, 0.4}) {
      const Camera camera{.phase = first, .jitter = uniform(0.03)};
      const Camera other{.phase = first + apart, .drift = 1e-6, .jitter = uniform(0.03, 2)};
      SetNumbering numbering(camera.rate);
      SetNumbering beside(camera.rate);
      for (int i = 0; i < 10'000; ++i) {
        const auto number = numbering.number_of(camera.time_of(i));
        if (i == 0) beside.lock_near(*numbering.phase());
        ASSERT_EQ(beside.number_of(other.time_of(i)), number) << first << " " << apart << ", frame " << i;
      }
      EXPECT_EQ(beside.slips(), 0U);
    }
  }
}

// A set is never more than three quarters of one off what is right, and jitter: all members' frames of a set were taken
// within that.
TEST(SetNumbering, KeepsFramesOfASetTogether) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(0, 1);
  for (int i = 0; i < 30; ++i) {
    const Camera camera{.phase = any(random),
                        .drift = (any(random) - 0.5) * 400e-6,
                        .jitter = uniform(0.2, static_cast<unsigned>(random()))};
    EXPECT_LE(run(camera, 20'000).farthest, 0.75 + 0.2 + 0.1);
  }
}

// A clock that is set by parts of a frame, to and fro, each half a minute.
TEST(SetNumbering, OutlivesAClockThatIsSet) {
  for (const double by : {0.1, 0.3, 0.45}) {
    const auto jump = [&](int frame) {
      if (frame == 0 || frame % 900 != 0) return std::int64_t{0};
      return static_cast<std::int64_t>((frame % 1800 == 0 ? -by : by) / 30 * 1e9);
    };
    const Result result = run({.phase = 0.5, .jitter = normal(half_a_millisecond)}, many, jump);
    EXPECT_LE(result.dropped + result.skipped, 5) << by;
  }
}

// By several frames: numbers are left out, or frames, but no more than the clock was set by.
TEST(SetNumbering, FollowsAClockThatIsSetByFrames) {
  for (const int by : {-20, 20}) {
    const auto jump = [&](int frame) { return frame == 500 ? by * second / 30 : 0; };
    const Result result = run({.phase = 0.5, .jitter = normal(half_a_millisecond)}, 2000, jump);
    EXPECT_EQ(result.dropped, by < 0 ? 20 : 0);
    EXPECT_EQ(result.skipped, by > 0 ? 20 : 0);
    EXPECT_EQ(result.slips, 0U);
  }
}

TEST(SetNumbering, LocksAnewAfterAGap) {
  SetNumbering numbering(30);
  const auto at = [](double sets) { return utc + static_cast<std::int64_t>(sets / 30 * 1e9); };
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(numbering.number_of(at(i + 0.4)));
  EXPECT_NEAR(numbering.phase().value(), 0.4, 0.01);
  const std::int64_t base = utc / second * 30;
  EXPECT_EQ(numbering.number_of(at(150.3)), base + 150);
  EXPECT_NEAR(numbering.phase().value(), 0.3, 0.01);  // that alone
  // Shorter than a second: the phase is kept.
  EXPECT_EQ(numbering.number_of(at(160.6)), base + 160);
  EXPECT_NEAR(numbering.phase().value(), 0.3, 0.01);
}

TEST(SetNumbering, LocksAnewWhenItIsToldTo) {
  SetNumbering numbering(30);
  const auto at = [](double sets) { return utc + static_cast<std::int64_t>(sets / 30 * 1e9); };
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(numbering.number_of(at(i + 0.4)));
  numbering.lock_anew();
  EXPECT_FALSE(numbering.phase());
  // The camera's own clock says that its frames are 4.6 sets older: what is there already comes again, and is dropped.
  for (int i = 100; i < 104; ++i) EXPECT_FALSE(numbering.number_of(at(i - 4.2))) << i;
  EXPECT_EQ(numbering.number_of(at(104 - 4.2)), utc / second * 30 + 100);
  EXPECT_NEAR(numbering.phase().value(), -0.2, 0.01);
  EXPECT_EQ(numbering.slips(), 0U);
}

// A camera that is faster than its group gives what the group takes.
TEST(SetNumbering, OfAFasterCameraDropsWhatIsTooMuch) {
  SetNumbering numbering(10);
  int taken = 0;
  for (int i = 0; i < 3000; ++i) taken += numbering.number_of(utc + i * second / 30) ? 1 : 0;
  EXPECT_NEAR(taken, 1000, 1);
}

// Of a camera that has `each` frames for a set, begun together with the sets: how far those that it gives lie from
// their sets at most, in sets, and how many sets lack one.
struct Given {
  double farthest = 0;
  int skipped = 0;
};

Given given_by(double each, double most_jitter = 0) {
  SetNumbering numbering(10);
  const auto jitter = uniform(most_jitter);
  Given given;
  std::optional<std::int64_t> last;
  for (int i = 0; i < 5000; ++i) {
    const double at = i / each + (most_jitter > 0 ? jitter() : 0);
    const auto number = numbering.number_of(std::llround(at * 1e8));
    if (!number) continue;
    if (last) given.skipped += static_cast<int>(*number - *last - 1);
    last = number;
    if (i > 100) given.farthest = std::max(given.farthest, std::abs(at - static_cast<double>(*number)));
  }
  return given;
}

TEST(SetNumbering, GivesTheNearestFramesOfACameraWithMore) {
  for (const double each : {2.0, 3.0, 5.0}) {
    EXPECT_LT(given_by(each).farthest, 0.01) << each;
    EXPECT_EQ(given_by(each).skipped, 0) << each;
    EXPECT_LT(given_by(each, 0.02).farthest, 0.1) << each;
    EXPECT_EQ(given_by(each, 0.02).skipped, 0) << each;
  }
  EXPECT_LE(given_by(2.5).farthest, 0.21) << "half a step";
  EXPECT_EQ(given_by(2.5).skipped, 0);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
