#include "app/server/fragment_times.h"

#include <gtest/gtest.h>

#include <vector>

namespace campipe {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes fragment(std::uint8_t version, std::uint64_t time) {
  Bytes bytes{0, 0, 0, 20, 't', 'f', 'd', 't', version, 0, 0, 0};
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(time >> shift));
  bytes.push_back(0xAB);  // what comes behind it
  return bytes;
}

Bytes placed(FragmentTimes& times, std::uint64_t time) {
  Bytes bytes = fragment(1, time);
  times.place(bytes);
  return bytes;
}

TEST(FragmentTimes, BeginAtZeroAndKeepTheirDistances) {
  FragmentTimes times;
  EXPECT_EQ(placed(times, 5'000'000'000), fragment(1, 0));
  EXPECT_EQ(placed(times, 5'000'003'600), fragment(1, 3'600));
  EXPECT_EQ(placed(times, 5'000'090'000), fragment(1, 90'000));
}

TEST(FragmentTimes, GoOnWhereTheStreamsTimeGoesBack) {
  FragmentTimes times;
  placed(times, 90'000);
  placed(times, 93'600);
  EXPECT_EQ(placed(times, 100), fragment(1, 7'200));
  EXPECT_EQ(placed(times, 200), fragment(1, 7'300));
}

TEST(FragmentTimes, LeaveAloneWhatIsNone) {
  FragmentTimes times;
  Bytes nothing;
  times.place(nothing);
  Bytes short_time = fragment(0, 77);
  times.place(short_time);
  EXPECT_EQ(short_time, fragment(0, 77));
  Bytes cut = fragment(1, 77);
  cut.resize(15);
  const Bytes before = cut;
  times.place(cut);
  EXPECT_EQ(cut, before);
}

}  // namespace
}  // namespace campipe
