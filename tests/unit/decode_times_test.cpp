// When frames are decoded, made of when they are shown.
#include "stages/sources/decode_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;

constexpr auto none = AV_NOPTS_VALUE;

struct Shown {
  std::int64_t pts;
  bool is_b = false;
};

std::vector<std::int64_t> decoded(DecodeTimes& times, const std::vector<Shown>& frames) {
  std::vector<std::int64_t> all;
  for (const Shown& frame : frames) {
    const AvPacket packet = make_av_packet();
    packet->pts = frame.pts;
    packet->dts = 12345;
    times.date(*packet, frame.is_b);
    all.push_back(packet->dts);
  }
  return all;
}

TEST(DecodeTimes, AreThoseOfShowingWithoutBFrames) {
  DecodeTimes times(0, 3600);
  EXPECT_THAT(decoded(times, {{0}, {3600}, {7300}, {none}, {10'800}}), ElementsAre(0, 3600, 7300, none, 10'800));
}

TEST(DecodeTimes, AreEarlierByTheDelayThatTheStreamHas) {
  DecodeTimes one(1, 10);
  EXPECT_THAT(decoded(one, {{0}, {30}, {10, true}, {20, true}, {60}, {40, true}, {50, true}}),
              ElementsAre(-10, 0, 10, 20, 30, 40, 50));
  DecodeTimes two(2, 10);
  EXPECT_THAT(decoded(two, {{0}, {40}, {20, true}, {10, true}, {30, true}, {80}}),
              ElementsAre(-20, -10, 0, 10, 20, 30));
  DecodeTimes unknown_rate(2, 0);
  EXPECT_THAT(decoded(unknown_rate, {{0}, {40}, {20, true}, {10, true}}), ElementsAre(none, none, 0, 10));
}

TEST(DecodeTimes, FollowADelayThatWasNotSaid) {
  DecodeTimes times(0, 10);
  EXPECT_THAT(decoded(times, {{0}, {30}, {10, true}, {20, true}, {60}, {40, true}, {50, true}, {90}}),
              ElementsAre(0, 30, 10, 20, 30, 40, 50, 60));
}

// As new parameter sets say it.
TEST(DecodeTimes, GoOnWithAnotherDelay) {
  DecodeTimes times(0, 10);
  EXPECT_THAT(decoded(times, {{0}, {10}, {20}}), ElementsAre(0, 10, 20));
  times.change_delay(1);
  EXPECT_THAT(decoded(times, {{30}, {60}, {40, true}, {50, true}, {90}, {70, true}}),
              ElementsAre(25, 30, 40, 50, 60, 70));
  times.change_delay(2);
  EXPECT_THAT(decoded(times, {{100}, {140}, {120, true}, {110, true}, {130, true}, {180}}),
              ElementsAre(80, 90, 100, 110, 120, 130));
  times.change_delay(0);
  EXPECT_THAT(decoded(times, {{190}, {200}}), ElementsAre(190, 200));
}

TEST(DecodeTimes, BeginAnewWithAnotherClock) {
  constexpr std::int64_t hour = 3600 * std::int64_t{90'000};
  DecodeTimes times(1, 3600);
  EXPECT_THAT(decoded(times, {{hour}, {hour + 10'800}, {hour + 3600, true}, {0}, {10'800}, {3600, true}}),
              ElementsAre(hour - 3600, hour, hour + 3600, -3600, 0, 3600));
  DecodeTimes without(0, 3600);
  EXPECT_THAT(decoded(without, {{hour}, {0}, {3600}, {hour}}), ElementsAre(hour, 0, 3600, hour));
  DecodeTimes back(0, 3600);  // by less than what could be the order of frames
  EXPECT_THAT(decoded(back, {{90'000}, {93'600}, {80'000}, {83'600}}), ElementsAre(90'000, 93'600, 80'000, 83'600));
}

TEST(DecodeTimes, AnyTimeIsTaken) {
  constexpr std::int64_t least = INT64_MIN + 1;
  DecodeTimes times(16, INT64_MAX / 100);
  for (const std::int64_t pts : {INT64_MAX, least, std::int64_t{0}, least, INT64_MAX})
    EXPECT_EQ(decoded(times, {{pts, true}}).size(), 1U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
