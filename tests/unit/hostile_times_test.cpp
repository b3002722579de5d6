// Timestamps as nobody means them: whatever a source says, the times that come of it are some that a ring takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "app/rings/source_times.h"
#include "app/source/source_clock.h"
#include "ipc/ring_checks.h"

namespace campipe {
namespace CAMPIPE_FILE {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1000 * ms;
constexpr std::int64_t year = std::int64_t{365} * 24 * 3600 * second;

// A clock that is set at random, and runs at any speed in between.
class WildClock {
 public:
  explicit WildClock(unsigned seed) : random_(seed) {}

  std::int64_t next() {
    switch (pick(20)) {
      case 0:
        time_ = static_cast<std::int64_t>(uniform(-70, 70) * static_cast<double>(year));
        break;
      case 1:
        time_ += static_cast<std::int64_t>(std::pow(10.0, uniform(6, 18))) * (pick(2) == 0 ? 1 : -1);
        break;
      case 2:
        step_ = static_cast<std::int64_t>(std::pow(10.0, uniform(6, 11)));
        break;
      default:
        step_ += step_ / pick_of_growth();
        time_ += step_;
    }
    time_ = std::clamp(time_, -(std::int64_t{1} << 61), std::int64_t{1} << 61);
    step_ = std::min(step_, year);
    return time_;
  }
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

 private:
  std::int64_t pick_of_growth() { return pick(2) == 0 ? 8 : std::numeric_limits<std::int64_t>::max(); }

  std::mt19937 random_;
  std::int64_t time_ = 0;
  std::int64_t step_ = 40 * ms;
};

class WildTimes : public testing::TestWithParam<unsigned> {};

TEST_P(WildTimes, OfALiveSourceStayByTheArrivals) {
  WildClock camera(GetParam());
  SourceClock clock(true);
  const std::int64_t begin = 1000 * second;
  std::int64_t arrival = begin;
  for (int connection = 0; connection < 20; ++connection) {
    clock.reconnect();
    for (int i = camera.pick(4); i > 0; --i) clock.preview(camera.next(), arrival);
    for (int i = 0; i < 500; ++i) {
      const std::int64_t source = camera.next();
      arrival += static_cast<std::int64_t>(camera.uniform(0, 80e6));
      clock.observe({.source = source, .arrival = arrival, .waited = camera.pick(2) == 0 ? 0 : 10 * ms});
      const std::int64_t off = clock.map(source) - (arrival - begin);
      ASSERT_LE(off, 130 * second) << connection << ", " << i;
      const auto beside = clock.map_beside(camera.next(), arrival);
      ASSERT_LE(beside.value_or(0) - (arrival - begin), 130 * second);
    }
  }
}

TEST_P(WildTimes, OfAFileStayWithinTenYears) {
  WildClock file(GetParam());
  SourceClock clock(false);
  clock.begin(0, 0);
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t source = file.next();
    clock.observe({.source = source, .duration = 40 * ms, .arrival = i * ms, .leap_confirmed = file.pick(4) > 0});
    ASSERT_LE(clock.map(source), 11 * year) << i;
    ASSERT_GE(clock.map(source), -second) << i;
    ASSERT_TRUE(is_possible_time(clock.map_beside(file.next(), i * ms).value_or(0)));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, WildTimes, testing::Range(0U, 40U));

// Sender reports of a camera whose clock stands still set its timestamps back by half a second, each half second.
TEST(WildTimes, SmallStepsBackDoNotAddUp) {
  SourceClock clock(true);
  int corrections = 0;
  for (int i = 0; i < 7500; ++i) {
    const std::int64_t arrival = i * 40 * ms;
    corrections += clock.observe({.source = i % 12 * 40 * ms, .arrival = arrival, .waited = 30 * ms}) ? 1 : 0;
    ASSERT_LE(clock.lag(), 2 * second) << i;
  }
  EXPECT_GE(corrections, 100);
}

// A jitter of its clock is none of these, also while it catches up with a stall.
TEST(WildTimes, StepsBackThatAreMadeUpForAreKept) {
  SourceClock clock(true);
  std::int64_t arrival = 0;
  for (int i = 0; i < 7500; ++i) {
    const std::int64_t jitter = i % 2 * 60 * ms;
    arrival = std::max(arrival + 5 * ms, i * 40 * ms + 100 * ms);
    if (i % 1500 == 1000) arrival += 10 * second;
    EXPECT_FALSE(clock.observe({.source = i * 40 * ms - jitter, .arrival = arrival, .waited = 0})) << i;
  }
}

TEST(SourceTimes, NothingOverflows) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t start : {-most, std::int64_t{0}, most}) {
    for (const AVRational base :
         {AVRational{1, 1}, AVRational{1, 90000}, AVRational{std::numeric_limits<int>::max(), 1}}) {
      SourceStream stream;
      stream.start = start;
      stream.time_base = stream.audio_time_base = base;
      for (const std::int64_t time : {-most, std::int64_t{-1}, std::int64_t{0}, most}) {
        for (const std::int64_t ns : {source_ns(stream, time), audio_ns(stream, time)})
          EXPECT_LE(std::abs(ns), std::int64_t{1} << 61);
      }
    }
  }
}

TEST(SourceTimes, WhatNoStreamMeansIsForgotten) {
  const AvPacket packet = make_av_packet();
  const auto forget = [&](std::int64_t pts, std::int64_t dts, std::int64_t duration, bool live = false,
                          std::int64_t frame = 0) {
    packet->pts = pts;
    packet->dts = dts;
    packet->duration = duration;
    forget_absurd_times(*packet, {1, 1000}, live, frame);
  };
  forget(5000, 4000, 40);
  EXPECT_EQ(packet->pts, 5000);
  EXPECT_EQ(packet->duration, 40);
  forget(std::numeric_limits<std::int64_t>::max(), 4000, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(packet->pts, 4000);
  EXPECT_EQ(packet->duration, 0);
  forget(AV_NOPTS_VALUE, 4000, -1);
  EXPECT_EQ(packet->pts, AV_NOPTS_VALUE);
  EXPECT_EQ(packet->duration, 0);
  constexpr std::int64_t hour = 3'600'000;
  forget(4000 + hour, 4000, hour);
  EXPECT_EQ(packet->pts, 4000 + hour);
  EXPECT_EQ(packet->duration, hour);
  forget(4000 + hour, 4000, hour, true);
  EXPECT_EQ(packet->pts, 4000);
  EXPECT_EQ(packet->duration, 0);
  constexpr std::int64_t frame = 40'000'000;
  forget(4640, 4000, 40, true, frame);
  EXPECT_EQ(packet->pts, 4640);
  forget(9000, 4000, 40, true, frame);
  EXPECT_EQ(packet->pts, 4000);
  forget(9000, 4000, 40, true);
  EXPECT_EQ(packet->pts, 9000);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
