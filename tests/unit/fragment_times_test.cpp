#include "app/publisher/server/live/fragment_times.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace campipe {
namespace CAMPIPE_FILE {

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

// Two tracks of 90 000 and 48 000 ticks a second, as a header tells them.
Bytes header() {
  Bytes bytes;
  for (const auto& [high, low] : {std::pair{0x5f, 0x90}, std::pair{0xbb, 0x80}}) {
    const bool first = low == 0x90;
    for (const char c : std::string("mdhd")) bytes.push_back(static_cast<std::uint8_t>(c));
    bytes.resize(bytes.size() + 12);
    for (const int byte : {0, first ? 1 : 0, high, low}) bytes.push_back(static_cast<std::uint8_t>(byte));
    bytes.resize(bytes.size() + 40);
  }
  return bytes;
}

Bytes of_track(std::uint8_t track, std::uint64_t time) {
  Bytes bytes{'t', 'f', 'h', 'd', 0, 0, 0, 0, 0, 0, 0, track};
  const Bytes rest = fragment(1, time);
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

Bytes placed(FragmentTimes& times, std::uint8_t track, std::uint64_t time) {
  Bytes bytes = of_track(track, time);
  times.place(bytes);
  return bytes;
}

TEST(FragmentTimes, OfAllTracksAreMovedAlike) {
  FragmentTimes times;
  times.begin(header());
  EXPECT_EQ(placed(times, 1, 900'000), of_track(1, 0));
  EXPECT_EQ(placed(times, 2, 480'480), of_track(2, 480));
  EXPECT_EQ(placed(times, 1, 903'600), of_track(1, 3'600));
  EXPECT_EQ(placed(times, 1, 90'000), of_track(1, 7'200));  // back
  EXPECT_EQ(placed(times, 2, 48'480), of_track(2, 3'840 + 480));
  EXPECT_EQ(placed(times, 2, 0), of_track(2, 3'840 + 481)) << "never back";
  EXPECT_EQ(placed(times, 3, 77), of_track(3, 77)) << "there is none";
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

}  // namespace CAMPIPE_FILE
}  // namespace campipe
