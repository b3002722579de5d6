// Access units out of fragments, as libavformat hands out RTP packets one by one.
#include "stages/sources/access_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "stages/sources/capture_clock.h"
#include "tests/unit/peak_memory.h"

namespace campipe {
namespace CAMPIPE_FILE {

using test::most_memory;
using test::PeakMemory;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t frame = 3600;

const std::string sets("\0\0\0\1\x67sps\0\0\0\1\x68pps", 16);
const std::string message("\0\0\0\1\x06sei", 8);
const std::string picture("\0\0\0\1\x65\x88one", 9);     // the first slice of one
const std::string next_slice("\0\0\0\1\x65\x48two", 9);  // another one of it
const std::string more("more");                          // of the NAL unit before it
constexpr RtpMark at_end{.flow = 1, .marker = true};
constexpr RtpMark within{.flow = 1, .marker = false};

class H264Units : public testing::Test {
 protected:
  // RTP's time and libavformat's are the same, unless `pts` is given.
  void add(const std::string& data, std::uint32_t time, std::optional<RtpMark> mark = within,
           std::optional<std::int64_t> pts = {}) {
    AvPacket fragment = make_av_packet();
    ASSERT_EQ(av_new_packet(fragment.get(), static_cast<int>(data.size())), 0);
    std::memcpy(fragment->data, data.data(), data.size());
    fragment->pts = pts.value_or(time);
    set_wall_clock(*fragment, 1'000'000 + fragment->pts);
    if (mark) mark->timestamp = time;
    units_.add(std::move(fragment), mark, ++received_);
  }

  // What is complete by now.
  std::vector<std::string> taken() {
    std::vector<std::string> all;
    while (const auto unit = units_.take()) {
      const AVPacket& packet = *unit->packet;
      all.emplace_back(packet.data, packet.data + packet.size);
      times_.push_back(packet.pts);
      arrivals_.push_back(unit->received.value());
      EXPECT_EQ(wall_clock(packet), 1'000'000 + packet.pts);
    }
    return all;
  }

  // Units of one fragment each, whose markers are right, up to and with `time`.
  void learn(std::uint32_t time) {
    for (std::uint32_t i = 0; i <= time / frame; ++i) add(picture, i * frame, at_end);
    taken();
    times_.clear();
    arrivals_.clear();
  }

  std::int64_t received_ = 0;  // the newest fragment
  AccessUnits units_{AV_CODEC_ID_H264, {1, 90'000}};
  std::vector<std::int64_t> times_;
  std::vector<std::int64_t> arrivals_;
};

// Of cameras that send start codes within RTP, or aggregation packets with empty units.
TEST_F(H264Units, HaveNoEmptyNalUnits) {
  const std::string code("\0\0\0\1", 4);
  add(message + picture, 0);
  add(message + code + picture, frame);
  add(code + message + code + code + picture, 2 * frame);
  units_.end();
  EXPECT_THAT(taken(), ElementsAre(message + picture, message + picture, message + picture));
}

TEST_F(H264Units, OfManySmallFragmentsTakeNoMoreThanTheirBytes) {
  constexpr int many = 400'000;
  const PeakMemory memory;
  std::string sent;
  for (int i = 0; i < many; ++i) {
    add(message, 0);
    sent += message;
  }
  add(picture, 0);
  EXPECT_LT(memory.mib(), most_memory);
  units_.end();
  EXPECT_TRUE(taken() == std::vector{sent + picture});
}

TEST_F(H264Units, WereReceivedWithTheirLastFragments) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    add(picture, i * frame);
    add(more, i * frame);
  }
  units_.end();
  taken();
  EXPECT_THAT(arrivals_, ElementsAre(2, 4, 6));
}

TEST_F(H264Units, EndWithTheirMarkersOnceTheseHaveBeenRight) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    add(picture, i * frame);
    add(more, i * frame, at_end);
  }
  EXPECT_THAT(taken(), ElementsAre(picture + more, picture + more));
  add(picture, 3 * frame);
  EXPECT_THAT(taken(), ElementsAre(picture + more));
  add(more, 3 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(picture + more));
  add(sets, 4 * frame);
  add(picture, 4 * frame);
  EXPECT_THAT(taken(), IsEmpty());
  add(next_slice, 4 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(sets + picture + next_slice));
  EXPECT_THAT(times_, ElementsAre(0, 3600, 7200, 10'800, 14'400));
}

TEST_F(H264Units, HaveOneStartCodeWhereTheCameraSendsItsOwnToo) {
  learn(3 * frame);
  const std::string code("\0\0\0\1", 4);
  add(code + picture, 4 * frame, at_end);
  add(code + code + sets, 5 * frame);
  add(code + picture.substr(1), 5 * frame, at_end);
  // As the analysis of a stream has put them together.
  add(code + sets + code + picture + code + next_slice, 6 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(picture, sets + picture.substr(1), sets + picture + next_slice));
}

TEST_F(H264Units, EndWhereTheNextBeginsWithoutMarkers) {
  for (std::uint32_t i = 0; i < 10; ++i) {
    add(picture, i * frame);
    add(next_slice, i * frame);
    EXPECT_EQ(taken().size(), i == 0 ? 0 : 1);
  }
}

TEST_F(H264Units, EndWhereTheNextBeginsWhereEachSliceHasAMarker) {
  for (std::uint32_t i = 0; i < 10; ++i) {
    add(picture, i * frame, at_end);
    add(next_slice, i * frame, at_end);
    EXPECT_EQ(taken().size(), i == 0 ? 0 : 1);
  }
}

TEST_F(H264Units, MarkersAreNotBelievedAnyMoreAfterOneThatWasWrong) {
  learn(3 * frame);
  add(picture, 4 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(picture));
  add(next_slice, 4 * frame, at_end);
  EXPECT_THAT(taken(), IsEmpty());
  for (std::uint32_t i = 5; i < 10; ++i) {
    add(picture, i * frame, at_end);
    EXPECT_EQ(taken().size(), 1U);
    add(next_slice, i * frame, at_end);
    EXPECT_THAT(taken(), IsEmpty());
  }
}

// As UDP brings it at times.
TEST_F(H264Units, APacketThatComesTwiceShowsNoMarkerToBeWrong) {
  learn(3 * frame);
  add(picture, 4 * frame);
  add(more, 4 * frame, at_end);
  add(more, 4 * frame, std::nullopt);
  EXPECT_THAT(taken(), ElementsAre(picture + more));
  add(picture, 5 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(picture));
}

TEST_F(H264Units, AMarkerThatIsMissingChangesNothing) {
  learn(3 * frame);
  add(picture, 4 * frame);
  EXPECT_THAT(taken(), IsEmpty());
  add(picture, 5 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(picture, picture));
}

TEST_F(H264Units, ParameterSetsAreNoUnit) {
  learn(3 * frame);
  add(sets, 4 * frame - 100, at_end);  // with a time and a marker of their own
  add(message, 4 * frame - 50, at_end);
  EXPECT_THAT(taken(), IsEmpty());
  add(picture, 4 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(sets + message + picture));
  EXPECT_THAT(times_, ElementsAre(4 * frame));
  add(picture, 5 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(picture));
}

TEST_F(H264Units, ACameraWhoseClockStandsStillSendsUnitsAllTheSame) {
  for (int i = 0; i < 10; ++i) {
    add(picture, 77, at_end);
    add(message, 77);
    add(picture, 77, at_end);
  }
  units_.end();
  const auto all = taken();
  ASSERT_EQ(all.size(), 20U);
  EXPECT_EQ(all[7], message + picture);
}

// Each is a picture of its own, as libavformat's parser has it; the marker is on the second one, or on both.
TEST_F(H264Units, TwoFieldsOfOneTimeAreTwo) {
  learn(3 * frame);
  add(picture, 4 * frame);
  add(more, 4 * frame);
  add(picture, 4 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(picture + more, picture));
  add(picture, 5 * frame, at_end);
  add(picture, 5 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(picture, picture));
}

TEST_F(H264Units, WhatBeganInALostPacketIsDropped) {
  learn(3 * frame);
  add(more, 4 * frame, at_end);
  add(picture, 5 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(picture));
  add(more, 6 * frame);
  add(next_slice, 6 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(next_slice));
}

// Without a mark the fragment may have come in any packet.
TEST_F(H264Units, WithoutMarksTheyEndWhereTheTimeChanges) {
  learn(3 * frame);
  add(picture, 4 * frame, std::nullopt);
  add(next_slice, 4 * frame, std::nullopt);
  add(next_slice, 5 * frame, std::nullopt);  // the first one was lost
  EXPECT_THAT(taken(), ElementsAre(picture + next_slice));
  add(picture, 6 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(next_slice, picture));
}

TEST_F(H264Units, ASenderReportInTheMidstOfOneSplitsNone) {
  learn(3 * frame);
  add(picture, 4 * frame);
  add(more, 4 * frame, at_end, 4 * frame + 700);
  EXPECT_THAT(taken(), ElementsAre(picture + more));
  EXPECT_THAT(times_, ElementsAre(4 * frame));
}

TEST_F(H264Units, MarksOfAnotherStreamEndNone) {
  learn(3 * frame);
  constexpr RtpMark other{.flow = 2, .marker = true};
  add(picture, 4 * frame, other);
  EXPECT_THAT(taken(), IsEmpty());
  add(next_slice, 4 * frame);
  add(next_slice, 4 * frame, at_end);
  EXPECT_THAT(taken(), ElementsAre(picture + next_slice + next_slice));
}

TEST_F(H264Units, WhatThereIsOfOneIsGivenAtTheEnd) {
  add(picture, 0);
  add(more, 0);
  units_.end();
  EXPECT_THAT(taken(), ElementsAre(picture + more));
  add(sets, frame);
  units_.end();
  EXPECT_THAT(taken(), IsEmpty());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
