#include "app/publisher/server/rtsp/jpeg_form.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/unit/encoded_clip.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;
using Jpeg = std::vector<std::uint8_t>;

Jpeg made_by_ffmpeg() {
  EncoderConfig config;
  config.codec = "mjpeg";
  return encode(config, steady(1)).packets.at(0).data;
}

// Where its first segment with that marker begins, before the scan's data; that of the scan where there is none.
std::size_t segment_of(const Jpeg& jpeg, std::uint8_t marker) {
  std::size_t at = 2;
  while (jpeg.at(at + 1) != marker && jpeg.at(at + 1) != 0xda)
    at += 2U + (std::size_t{jpeg.at(at + 2)} << 8U | jpeg.at(at + 3));
  return at;
}

// Behind the marker and the length.
std::size_t frame_header(const Jpeg& jpeg) {
  const std::size_t at = segment_of(jpeg, 0xc0);
  EXPECT_EQ(jpeg.at(at + 1), 0xc0) << "it has no frame header";
  return at + 4;
}

TEST(RtspJpegForm, IsThereForWhatEncodersMakeByDefault) { EXPECT_EQ(without_rtp_form(made_by_ffmpeg()), ""); }

struct Change {
  const char* name;
  int at;  // in the frame header
  std::uint8_t value;
  const char* said;
};

class ChangedJpeg : public testing::TestWithParam<Change> {};

TEST_P(ChangedJpeg, IsRefusedWithItsReason) {
  Jpeg jpeg = made_by_ffmpeg();
  jpeg.at(frame_header(jpeg) + static_cast<std::size_t>(GetParam().at)) = GetParam().value;
  EXPECT_THAT(without_rtp_form(jpeg), HasSubstr(GetParam().said));
}

INSTANTIATE_TEST_SUITE_P(Headers, ChangedJpeg,
                         testing::Values(Change{"Progressive", -3, 0xc2, "not baseline"},
                                         Change{"TwelveBits", 0, 12, "8 bits"}, Change{"High", 1, 8, "x"},
                                         Change{"Grey", 5, 1, "colour"}, Change{"Full", 7, 0x11, "neither"},
                                         Change{"Upright", 7, 0x12, "neither"}, Change{"FineBlue", 10, 0x21, "neither"},
                                         Change{"OwnTable", 14, 3, "tables"}, Change{"OtherOrder", 6, 9, "order"},
                                         Change{"Low", 2, 0, "x"}),
                         [](const auto& each) { return each.param.name; });

// The marker of the scan, behind which its header and its data come.
std::size_t scan_of(const Jpeg& jpeg) { return segment_of(jpeg, 0xda); }

TEST(RtspJpegForm, IsNotThereForPartsOfAFile) {
  const Jpeg whole = made_by_ffmpeg();
  const std::size_t data = scan_of(whole) + 14;
  for (std::size_t size = 0; size <= data; ++size)
    EXPECT_NE(without_rtp_form(std::span(whole).first(size)), "") << size << " bytes";
  EXPECT_EQ(without_rtp_form(std::span(whole).first(data + 1)), "");
}

TEST(RtspJpegForm, IsNotThereForAScanThatEndsBehindTheFile) {
  Jpeg jpeg = made_by_ffmpeg();
  jpeg.at(scan_of(jpeg) + 2) = 0xff;
  EXPECT_NE(without_rtp_form(jpeg), "");
}

TEST(RtspJpegForm, IsNotThereWithoutQuantizationTables) {
  Jpeg jpeg = made_by_ffmpeg();
  while (jpeg.at(segment_of(jpeg, 0xdb) + 1) == 0xdb) jpeg.at(segment_of(jpeg, 0xdb) + 1) = 0xfe;  // a comment
  EXPECT_NE(without_rtp_form(jpeg), "");
}

// A segment in front of the first one.
Jpeg with_segment(Jpeg jpeg, std::uint8_t marker, const std::vector<std::uint8_t>& body) {
  std::vector<std::uint8_t> segment{0xff, marker, static_cast<std::uint8_t>((body.size() + 2) >> 8U),
                                    static_cast<std::uint8_t>(body.size() + 2)};
  segment.insert(segment.end(), body.begin(), body.end());
  jpeg.insert(jpeg.begin() + 2, segment.begin(), segment.end());
  return jpeg;
}

TEST(RtspJpegForm, IsNotThereForHuffmanTablesOfItsOwn) {
  EncoderConfig config;
  config.codec = "mjpeg";
  config.options.emplace_back("huffman", "optimal");
  config.threads = 1;
  EXPECT_THAT(without_rtp_form(encode(config, steady(1)).packets.at(0).data), HasSubstr("Huffman"));
  Jpeg jpeg = made_by_ffmpeg();
  jpeg.at(segment_of(jpeg, 0xc4) + 5) ^= 1;  // how many codes have one bit
  EXPECT_NE(without_rtp_form(jpeg), "");
}

// As UVC cameras send it, whose readers know the tables.
TEST(RtspJpegForm, IsThereWithoutHuffmanTables) {
  Jpeg jpeg = made_by_ffmpeg();
  while (jpeg.at(segment_of(jpeg, 0xc4) + 1) == 0xc4) jpeg.at(segment_of(jpeg, 0xc4) + 1) = 0xfe;  // a comment
  EXPECT_EQ(without_rtp_form(jpeg), "");
  jpeg.at(scan_of(jpeg) + 6) = 0x22;  // of tables that nobody knows
  EXPECT_THAT(without_rtp_form(jpeg), HasSubstr("Huffman"));
}

TEST(RtspJpegForm, IsNotThereForAScanOfEachColour) {
  Jpeg jpeg = made_by_ffmpeg();
  jpeg.at(scan_of(jpeg) + 4) = 1;
  EXPECT_THAT(without_rtp_form(jpeg), HasSubstr("scan of each colour"));
}

TEST(RtspJpegForm, IsNotThereForTablesOf16Bits) {
  Jpeg jpeg = made_by_ffmpeg();
  jpeg.at(segment_of(jpeg, 0xdb) + 4) |= 0x10U;
  EXPECT_THAT(without_rtp_form(jpeg), HasSubstr("16 bits"));
}

TEST(RtspJpegForm, IsNotThereForFieldsAndOtherColours) {
  const Jpeg jpeg = made_by_ffmpeg();
  EXPECT_EQ(without_rtp_form(with_segment(jpeg, 0xe0, {'A', 'V', 'I', '1', 0, 0})), "");
  EXPECT_THAT(without_rtp_form(with_segment(jpeg, 0xe0, {'A', 'V', 'I', '1', 1, 0})), HasSubstr("field"));
  const std::vector<std::uint8_t> adobe{'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0};
  auto ycc = adobe;
  ycc.push_back(1);
  EXPECT_EQ(without_rtp_form(with_segment(jpeg, 0xee, ycc)), "");
  auto rgb = adobe;
  rgb.push_back(0);
  EXPECT_THAT(without_rtp_form(with_segment(jpeg, 0xee, rgb)), HasSubstr("YCbCr"));
}

TEST(RtspJpegForm, IsThereWithRestartIntervals) {
  EXPECT_EQ(without_rtp_form(with_segment(made_by_ffmpeg(), 0xdd, {0, 10})), "");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
