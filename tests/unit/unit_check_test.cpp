// Whether packets are access units, of encoders' own.
#include "stages/sources/unit_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/coded_units.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using Answer = UnitCheck::Answer;

struct Case {
  std::string encoder;
  AVCodecID codec;
  int b_frames = 0;
  int slices = 1;
};

AvPacket packet_of(const std::string& data) {
  AvPacket packet = make_av_packet();
  av_check(av_new_packet(packet.get(), static_cast<int>(data.size())), "a packet");
  std::memcpy(packet->data, data.data(), data.size());
  return packet;
}

class Checked : public testing::TestWithParam<Case> {
 protected:
  Checked() {
    stream_->codec_type = AVMEDIA_TYPE_VIDEO;
    stream_->codec_id = GetParam().codec;
    check_.emplace(*stream_);
  }
  Answer add(const std::string& data) { return check_->add(*packet_of(data)); }
  void SetUp() override {
    if (avcodec_find_encoder_by_name(GetParam().encoder.c_str()) == nullptr) GTEST_SKIP() << "no such encoder";
    units_ = coded_units({.encoder = GetParam().encoder, .b_frames = GetParam().b_frames, .slices = GetParam().slices});
  }

  AvCodecParameters stream_{avcodec_parameters_alloc()};
  std::optional<UnitCheck> check_;
  std::vector<CodedUnit> units_;
};

TEST_P(Checked, UnitsAreUnits) {
  for (const CodedUnit& unit : units_) EXPECT_EQ(add(unit.data), Answer::unit) << unit.number;
}

TEST_P(Checked, TwoInOneAreSeveral) {
  EXPECT_EQ(add(units_[0].data), Answer::unit);
  EXPECT_EQ(add(units_[1].data + units_[2].data), Answer::several);
}

TEST_P(Checked, AHalfIsFoundByTheOther) {
  EXPECT_EQ(add(units_[0].data), Answer::unit);
  const std::string& unit = units_[1].data;
  EXPECT_EQ(add(unit.substr(0, unit.size() / 2)), Answer::unit);
  EXPECT_EQ(add(unit.substr(unit.size() / 2)), Answer::goes_on_before);
}

TEST_P(Checked, NothingIsKnownAtARestart) {
  EXPECT_EQ(add(units_[0].data.substr(0, units_[0].data.size() / 2)), Answer::unit);
  check_->restart();
  EXPECT_EQ(add(units_[1].data), Answer::unit);
  EXPECT_EQ(add(units_[2].data), Answer::unit);
}

INSTANTIATE_TEST_SUITE_P(Codecs, Checked,
                         testing::Values(Case{"libx264", AV_CODEC_ID_H264}, Case{"libx264", AV_CODEC_ID_H264, 2},
                                         Case{"libx264", AV_CODEC_ID_H264, 0, 4}, Case{"libx265", AV_CODEC_ID_HEVC},
                                         Case{"libx265", AV_CODEC_ID_HEVC, 2},
                                         Case{"mpeg2video", AV_CODEC_ID_MPEG2VIDEO, 2},
                                         Case{"mpeg4", AV_CODEC_ID_MPEG4}),
                         [](const auto& test) {
                           return test.param.encoder + "_b" + std::to_string(test.param.b_frames) + "_s" +
                                  std::to_string(test.param.slices);
                         });

}  // namespace CAMPIPE_FILE
}  // namespace campipe
