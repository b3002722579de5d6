// Times for the first packets of a stream with B-frames.
#include "app/source/first_times.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace campipe {
namespace CAMPIPE_FILE {

constexpr std::int64_t none = AV_NOPTS_VALUE;

struct Times {
  std::int64_t pts = 0;
  std::int64_t dts = 0;
  friend bool operator==(const Times&, const Times&) = default;
};

std::vector<Times> dated(const std::vector<std::int64_t>& shown, const Times& next, std::int64_t first_dts = none) {
  std::vector<AvPacket> packets;
  std::vector<AVPacket*> undated;
  for (const std::int64_t pts : shown) {
    undated.push_back(packets.emplace_back(make_av_packet()).get());
    undated.back()->pts = pts;
  }
  if (!undated.empty()) undated.front()->dts = first_dts;
  const AvPacket following = make_av_packet();
  following->pts = next.pts;
  following->dts = next.dts;
  date_first_packets(undated, *following, 40);
  std::vector<Times> times;
  for (const AVPacket* packet : undated) times.push_back({packet->pts, packet->dts});
  return times;
}

TEST(FirstTimes, AreThoseBeforeWhatFollows) {
  // As libavformat 59 says them of RTSP: a key frame, a P-frame and a B-frame.
  EXPECT_EQ(dated({none, 1160, 1080}, {1040, 1040}), (std::vector<Times>{{1000, 920}, {1160, 960}, {1080, 1000}}));
}

TEST(FirstTimes, TheVeryFirstOneMayBeWrong) {
  EXPECT_EQ(dated({1120, 1160, 1080}, {1040, 1040}, 1120),
            (std::vector<Times>{{1000, 920}, {1160, 960}, {1080, 1000}}));
}

TEST(FirstTimes, WhatIsInOrderStays) { EXPECT_EQ(dated({1000}, {1200, 1010}, 995), (std::vector<Times>{{1000, 995}})); }

TEST(FirstTimes, OfNoneNothingComes) { EXPECT_TRUE(dated({}, {0, 0}).empty()); }

TEST(FirstTimes, NothingIsShownBeforeItIsDecoded) {
  EXPECT_EQ(dated({none}, {none, 1000}), (std::vector<Times>{{960, 960}}));
  EXPECT_EQ(dated({10}, {1000, 1000}), (std::vector<Times>{{960, 960}}));
}

TEST(FirstTimes, NumbersThatNoStreamMeansDoNotOverflow) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min() + 1;
  for (const Times& time : dated({none, none, none}, {least, least})) EXPECT_LE(time.dts, time.pts);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
