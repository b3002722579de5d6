// Where the key frames of a gop that is a time lie.
#include "stages/encoders/key_frame_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1000 * ms;
constexpr std::int64_t utc = 1'800'000'000 * second;

std::vector<std::int64_t> keys_of(KeyFrameGrid grid, const std::vector<std::int64_t>& times) {
  std::vector<std::int64_t> keys;
  std::ranges::copy_if(times, std::back_inserter(keys), [&](std::int64_t time) { return grid.is_due(time); });
  return keys;
}

std::vector<std::int64_t> steady(int count, double rate, std::int64_t start = 0) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < count; ++i) times.push_back(start + static_cast<std::int64_t>(i * 1e9 / rate));
  return times;
}

// Frames 1 to 700 ms apart, in whole milliseconds.
std::vector<std::int64_t> irregular(int count, std::int64_t start = 0) {
  std::mt19937 random(7);
  std::vector<std::int64_t> times;
  std::int64_t time = start;
  for (int i = 0; i < count; ++i) {
    times.push_back(time);
    time += (random() % 5 == 0 ? 1 + random() % 700 : 1 + random() % 40) * ms;
  }
  return times;
}

// The rule, as said: a key frame lies at or after its line of the grid, less 1 ms, and no frame lies between the two.
void expect_on_grid(const std::vector<std::int64_t>& times, const std::vector<std::int64_t>& keys, std::int64_t gop,
                    std::int64_t shift) {
  ASSERT_FALSE(keys.empty());
  EXPECT_EQ(keys.front(), times.front());
  std::vector<std::int64_t> expected{times.front()};
  for (std::int64_t line = shift - (shift / gop + 1) * gop; line <= times.back() + ms; line += gop) {
    const auto first = std::ranges::lower_bound(times, line - ms);
    if (*first > expected.back()) expected.push_back(*first);
  }
  EXPECT_EQ(keys, expected);
}

TEST(KeyFrameGrid, LiesAtWholeGopsPlusTheShift) {
  const auto times = steady(200, 25);
  EXPECT_THAT(keys_of({2s, 0s}, times), ElementsAre(0, 2 * second, 4 * second, 6 * second));
  EXPECT_THAT(keys_of({2s, 500ms}, times), ElementsAre(0, 520 * ms, 2520 * ms, 4520 * ms, 6520 * ms));
  EXPECT_THAT(keys_of({2s, 1999ms}, times), ElementsAre(0, 2000 * ms, 4000 * ms, 6000 * ms));
}

TEST(KeyFrameGrid, LiesTheSameOnTheClock) {
  const auto times = steady(200, 25, utc + 333 * ms);
  const auto keys = keys_of({2s, 500ms}, times);
  EXPECT_THAT(keys, ElementsAre(utc + 333 * ms, utc + 533 * ms, utc + 2533 * ms, utc + 4533 * ms, utc + 6533 * ms));
}

TEST(KeyFrameGrid, HoldsForFramesThatDivideNoGop) {
  const double ntsc = 30'000.0 / 1001;
  for (const auto shift : {0ms, 1ms, 33ms, 34ms, 1000ms, 1999ms}) {
    const auto times = steady(6000, ntsc);
    const auto keys = keys_of({2s, shift}, times);
    expect_on_grid(times, keys, 2 * second, shift.count() * ms);
    // It does not run away from the grid: 2 s are 59.94 frames.
    std::set<std::ptrdiff_t> lengths;
    for (std::size_t i = 2; i < keys.size(); ++i) {
      lengths.insert(std::ranges::find(times, keys[i]) - std::ranges::find(times, keys[i - 1]));
    }
    EXPECT_THAT(lengths, ElementsAre(59, 60)) << shift.count();
    EXPECT_GE(keys.size(), 100U);
  }
}

TEST(KeyFrameGrid, HoldsForIrregularFrames) {
  for (const auto gop : {100ms, 250ms, 2000ms}) {
    for (const auto part : {0, 1, 50, 99}) {
      const auto shift = gop * part / 100;
      const auto times = irregular(3000);
      expect_on_grid(times, keys_of({gop, shift}, times), gop.count() * ms, shift.count() * ms);
    }
  }
}

// After a gap of several gops there is one key frame, and not one for each that is missing.
TEST(KeyFrameGrid, MakesUpForNothing) {
  EXPECT_THAT(keys_of({1s, 0s}, {0, 100 * ms, 5300 * ms, 5400 * ms, 5900 * ms, 6000 * ms}),
              ElementsAre(0, 5300 * ms, 6000 * ms));
}

TEST(KeyFrameGrid, OfFramesThatAreFurtherApartThanTheGopHasThemAll) {
  const auto times = steady(20, 2);
  EXPECT_EQ(keys_of({250ms, 90ms}, times), times);
  EXPECT_EQ(keys_of({1ns, 0ns}, times), times);
}

// Wherever an encoder begins, its key frames are those of every other one, but for its first.
TEST(KeyFrameGrid, IsFoundAgainFromAnyFrameOn) {
  for (const auto& times : {steady(900, 30'000.0 / 1001, utc), irregular(900, utc)}) {
    const auto keys = keys_of({2s, 777ms}, times);
    for (std::size_t begin = 1; begin < times.size(); begin += 7) {
      const auto rest = keys_of({2s, 777ms}, {times.begin() + static_cast<std::ptrdiff_t>(begin), times.end()});
      const auto next = std::ranges::upper_bound(keys, times[begin]);
      EXPECT_EQ(rest.front(), times[begin]);
      EXPECT_TRUE(std::equal(rest.begin() + 1, rest.end(), next, keys.end())) << begin;
    }
  }
}

// Matroska's times are whole milliseconds, rounded.
TEST(KeyFrameGrid, ForgivesRounding) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < 90; ++i) times.push_back(i * 1000 / 30 * ms);
  EXPECT_THAT(keys_of({1s, 0s}, times), ElementsAre(0, second, 2 * second));
  std::vector<std::int64_t> rounded;
  for (const std::int64_t time : steady(6000, 30'000.0 / 1001)) rounded.push_back((time + ms / 2) / ms * ms);
  EXPECT_EQ(keys_of({1001ms, 0s}, rounded).size(), 200U);
}

// No gop is longer than one on the grid, wherever the clock goes; and from then on they lie as ever.
TEST(KeyFrameGrid, GoesOnWhereTheClockWentBack) {
  EXPECT_THAT(keys_of({1s, 0s}, {9000 * ms, 9400 * ms, 9800 * ms, 3200 * ms, 3600 * ms, 4000 * ms, 4400 * ms}),
              ElementsAre(9000 * ms, 3200 * ms, 4000 * ms));
  EXPECT_THAT(keys_of({1s, 0s}, {-1500 * ms, -1100 * ms, -700 * ms, -300 * ms, 100 * ms}),
              ElementsAre(-1500 * ms, -700 * ms, 100 * ms));
}

// Another version, or another machine, must not find another one.
TEST(KeyFrameShift, IsTheSameEverywhere) {
  EXPECT_EQ(key_frame_shift("dock", 2s).count(), 1'926'671'981);
  EXPECT_EQ(key_frame_shift("cam1", 2s).count(), 1'945'653'915);
  EXPECT_EQ(key_frame_shift("", 2s).count(), 1'873'537'063);
}

TEST(KeyFrameShift, IsAPartOfTheGop) {
  for (const std::string name : {"a", "b", "yard", "Tür 3"}) {
    const double part = static_cast<double>(key_frame_shift(name, 10min).count()) / 600e9;
    EXPECT_GE(part, 0);
    EXPECT_LT(part, 1);
    for (const std::chrono::nanoseconds gop : {std::chrono::nanoseconds(1ms), std::chrono::nanoseconds(2s)}) {
      EXPECT_NEAR(static_cast<double>(key_frame_shift(name, gop).count()), part * static_cast<double>(gop.count()), 1);
    }
  }
}

// A hundred cameras at 25 frames a second: were all alike, a hundred key frames would come with one frame of fifty.
TEST(KeyFrameShift, SpreadsCamerasOverTheGop) {
  for (const std::string prefix : {"cam", "cam0", "floor-2/east/camera-"}) {
    std::set<std::int64_t> shifts;
    std::vector<int> frames(50);
    for (int i = 0; i < 100; ++i) {
      const std::int64_t shift = key_frame_shift(prefix + std::to_string(i), 2s).count();
      shifts.insert(shift);
      ++frames.at(static_cast<std::size_t>(shift / (40 * ms)));
    }
    EXPECT_EQ(shifts.size(), 100U) << prefix;
    EXPECT_LE(std::ranges::max(frames), 8) << prefix;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
