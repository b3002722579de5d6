// What libavformat's analysis makes of the times of the units that it reads.
#include "stages/sources/analyzed_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "stages/sources/capture_clock.h"

namespace campipe {
namespace {

using testing::ElementsAre;

constexpr AVRational rtp{1, 90'000};
constexpr std::int64_t day = 1'700'000'000'000'000;  // us
constexpr auto none = AV_NOPTS_VALUE;

struct Unit {
  std::int64_t pts = 0;
  std::optional<std::int64_t> wall = {};  // us after `day`
};

struct Corrected {
  std::int64_t first = 0;                          // its time
  std::vector<std::optional<std::int64_t>> walls;  // us after `day`
};

Corrected correct(const std::vector<Unit>& given, const std::vector<std::vector<std::uint32_t>>& flows,
                  std::int64_t frame = 3600) {
  std::vector<AvPacket> packets;
  std::vector<AVPacket*> units;
  for (const Unit& unit : given) {
    packets.push_back(make_av_packet());
    packets.back()->pts = unit.pts;
    if (unit.wall) set_wall_clock(*packets.back(), day + *unit.wall);
    units.push_back(packets.back().get());
  }
  correct_analyzed(units, flows, frame, rtp);
  Corrected corrected;
  for (const AVPacket* unit : units) {
    const auto wall = wall_clock(*unit);
    corrected.walls.push_back(wall ? std::optional(*wall - day) : std::nullopt);
  }
  if (!units.empty()) corrected.first = units.front()->pts;
  return corrected;
}

TEST(AnalyzedUnits, TheFirstHasTheTimeOfItsPackets) {
  const std::vector<Unit> units{{none}, {9000}, {12'600}, {16'200}};
  EXPECT_EQ(correct(units, {{5, 9, 77, 78}, {0xfffffff0U, 8984, 12'584, 16'184}}).first, 0);
  // One that was not handed out came before.
  EXPECT_EQ(correct(units, {{1, 0xfffffff0U, 8984, 12'584, 16'184}}).first, 0);
  // Whatever time libavformat has guessed.
  EXPECT_EQ(correct({{5400}, {9000}, {12'600}, {16'200}}, {{100, 9100, 12'700, 16'300}}).first, 0);
}

TEST(AnalyzedUnits, TheFirstIsAFrameBeforeTheSecondWhereNothingIsKnown) {
  const std::vector<Unit> units{{none}, {9000}, {12'600}};
  EXPECT_EQ(correct(units, {}).first, 5400);
  EXPECT_EQ(correct(units, {{0, 9000}}).first, 5400);          // too few
  EXPECT_EQ(correct(units, {{0, 9000, 13'600}}).first, 5400);  // of another stream
  EXPECT_EQ(correct(units, {}, 0).first, none);
  EXPECT_EQ(correct({{none}}, {{7}}).first, none);
  EXPECT_EQ(correct({}, {}).first, 0);
}

TEST(AnalyzedUnits, EachHasTheCaptureTimeOfItsOwnPackets) {
  EXPECT_THAT(correct({{0, 40'000}, {3600, 80'000}, {7200, 160'000}, {14'400}}, {}).walls,
              ElementsAre(0, 40'000, 80'000, 160'000));
}

TEST(AnalyzedUnits, ThoseBeforeTheFirstReportHaveNone) {
  // It came before the third one's packets.
  EXPECT_THAT(correct({{0}, {3600, 80'000}, {7200, 120'000}, {10'800}}, {}).walls,
              ElementsAre(std::nullopt, 40'000, 80'000, 120'000));
}

TEST(AnalyzedUnits, InTheOrderOfDecoding) {
  EXPECT_THAT(correct({{0, 120'000}, {10'800, 40'000}, {3600, 80'000}, {7200}}, {{0, 10'800, 3600, 7200}}).walls,
              ElementsAre(0, 120'000, 40'000, 80'000));
}

}  // namespace
}  // namespace campipe
