// What libavformat's analysis makes of the times of the units that it reads.
#include "stages/sources/analyzed_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "stages/sources/capture_clock.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::IsEmpty;

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

// Packets that were received at 1, 2, …
std::vector<std::vector<RtpMark>> flows_of(const std::vector<std::vector<std::uint32_t>>& timestamps) {
  std::vector<std::vector<RtpMark>> flows;
  for (const auto& of_one : timestamps) {
    std::vector<RtpMark>& flow = flows.emplace_back();
    for (const std::uint32_t time : of_one)
      flow.push_back({.flow = static_cast<int>(flows.size()), .timestamp = time, .received = std::ssize(flow) + 1});
  }
  return flows;
}

std::vector<std::int64_t> received(const std::vector<RtpMark>& marks) {
  std::vector<std::int64_t> all;
  for (const RtpMark& mark : marks) all.push_back(mark.received);
  return all;
}

// Their times; none: AV_NOPTS_VALUE.
class Packets {
 public:
  explicit Packets(const std::vector<std::int64_t>& times) {
    for (const std::int64_t time : times) {
      owned_.push_back(make_av_packet());
      owned_.back()->pts = time;
      all.push_back(owned_.back().get());
    }
  }

 private:
  std::vector<AvPacket> owned_;

 public:
  std::vector<AVPacket*> all;
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
  correct_analyzed(units, find_marks(units, flows_of(flows), frame, rtp), frame, rtp);
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

TEST(AnalyzedUnits, WereReceivedWithTheirPackets) {
  const auto find = [](const std::vector<std::int64_t>& times, const std::vector<std::vector<std::uint32_t>>& flows) {
    return received(find_marks(Packets(times).all, flows_of(flows), 3600, rtp));
  };
  EXPECT_THAT(find({none, 9000, 12'600}, {{7, 1900}, {1, 100, 3700, 7300}}), ElementsAre(2, 3, 4));
  // Two fields of a frame, and units in the order of decoding.
  EXPECT_THAT(find({0, 3600, 3600, 7200}, {{0, 3600, 7200}}), ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(find({0, 10'800, 3600, 7200}, {{0, 10'800, 3600, 7200}}), ElementsAre(1, 2, 3, 4));
  // Which of them is not certain from one step, but for how long a frame is.
  EXPECT_THAT(find({none, 9000}, {{0, 1920, 3840}, {7, 100, 3700}}), ElementsAre(2, 3));
  EXPECT_THAT(find({none, 9000, 9100, 9200}, {{0, 160, 320, 480}, {7, 107, 207, 307}}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(find({none, 9000, 9100}, {{7, 107, 207}, {1, 101, 201}}), IsEmpty());
  EXPECT_THAT(find({none}, {{0, 1920}, {7}}), IsEmpty());
  EXPECT_THAT(find({none}, {{7}}), ElementsAre(1));
  EXPECT_THAT(find({}, {{7}}), IsEmpty());
}

TEST(AnalyzedUnits, TheirSoundWasReceivedInTheOtherFlow) {
  const std::vector<std::vector<RtpMark>> flows = flows_of({{0, 3600}, {500, 660, 820, 980}});
  const std::vector<RtpMark> video(2, RtpMark{.flow = 1});
  constexpr AVRational telephone{1, 8000};
  const auto find = [&](const std::vector<std::int64_t>& times, std::span<const RtpMark> beside) {
    return received(find_marks_of_sound(Packets(times).all, flows, beside, telephone));
  };
  EXPECT_THAT(find({0, 160, 320, 480}, video), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(find({160, none, 480}, video), ElementsAre(2, 4, 4));  // with what came after it
  EXPECT_THAT(find({-1600, 480}, video), ElementsAre(1, 4));
  EXPECT_THAT(find({0, 160}, {}), IsEmpty());
  EXPECT_THAT(find({}, video), IsEmpty());
  // Two others: which is it?
  const auto three = flows_of({{0}, {1}, {2}});
  EXPECT_THAT(find_marks_of_sound(Packets({0}).all, three, video, telephone), IsEmpty());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
