// Streams whose frames have more NAL units than any camera makes: none of them reaches FFmpeg's decoders.
#include "stages/sources/many_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "stages/sources/source.h"
#include "stages/sources/source_config.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::HasSubstr;

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::span<const std::uint8_t> as_bytes(const std::string& text) {
  return {static_cast<const std::uint8_t*>(static_cast<const void*>(text.data())), text.size()};
}

bool too_many_in(const std::string& data, AVCodecID codec = AV_CODEC_ID_H264, const std::string& header = "") {
  AVCodecParameters parameters{};
  parameters.codec_id = codec;
  std::string extradata = header;
  parameters.extradata = static_cast<std::uint8_t*>(static_cast<void*>(extradata.data()));
  parameters.extradata_size = static_cast<int>(extradata.size());
  std::string copy = data;
  AVPacket packet{};
  packet.data = static_cast<std::uint8_t*>(static_cast<void*>(copy.data()));
  packet.size = static_cast<int>(copy.size());
  return has_too_many_units(parameters, packet);
}

TEST(ManyUnits, AreCountedInAFrame) {
  const std::string unit = bytes({0, 0, 1, 12});
  EXPECT_FALSE(too_many_in(repeated(unit, most_units)));
  EXPECT_TRUE(too_many_in(repeated(unit, most_units + 1)));
  EXPECT_FALSE(too_many_in(repeated(unit, most_units + 1), AV_CODEC_ID_MJPEG));
  const std::string lengths_of_four = bytes({1, 66, 0, 10, 255, 225});
  EXPECT_TRUE(too_many_in(repeated(bytes({0, 0, 0, 1, 12}), most_units + 1), AV_CODEC_ID_H264, lengths_of_four));
  EXPECT_FALSE(too_many_in(std::string(30'000'000, 'x')));
}

TEST(ManyUnits, AreCountedInBytesOfAContainer) {
  for (const std::string& unit : {bytes({0, 0, 1, 12}), bytes({0, 0, 0, 2, 12, 13})}) {
    UnitsInBytes units;
    for (std::size_t i = 0; i < 6 * most_units; ++i) units.take(as_bytes(unit));
    EXPECT_TRUE(units.are_too_many());
  }
  UnitsInBytes units;  // 60 frames a second of ten slices, for five seconds
  const std::string slice = bytes({0, 0, 1, 65}) + std::string(900, 'x');
  for (int i = 0; i < 3000; ++i) units.take(as_bytes(slice));
  EXPECT_FALSE(units.are_too_many());
  UnitsInBytes silence;
  silence.take(as_bytes(std::string(1'000'000, '\0')));
  EXPECT_FALSE(silence.are_too_many());
}

std::string rtp(int timestamp, const std::string& payload) {
  return bytes({0x80, 96, 0, 1, 0, 0, timestamp >> 8, timestamp & 255, 1, 2, 3, 4}) + payload;
}

TEST(ManyUnits, AreCountedInPacketsOfOneTimestamp) {
  const std::string gathered = bytes({0x78}) + repeated(bytes({0, 1, 12}), 1000);
  const std::string gathered_hevc = bytes({0x60, 1}) + repeated(bytes({0, 2, 70, 1}), 1000);
  for (const std::string& payload : {gathered, gathered_hevc}) {
    UnitsInRtp same;
    for (int i = 0; i < 4; ++i) same.take(as_bytes(rtp(1, payload)));
    EXPECT_FALSE(same.are_too_many());
    same.take(as_bytes(rtp(1, payload)));
    EXPECT_TRUE(same.are_too_many());
    UnitsInRtp others;
    for (int i = 0; i < 100; ++i) others.take(as_bytes(rtp(i, payload)));
    EXPECT_FALSE(others.are_too_many());
  }
  // The fragments of a large one, of both codecs, are one.
  for (const std::string& fragment : {bytes({0x7c, 0x05}), bytes({0x62, 0x01, 0x13})}) {
    UnitsInRtp large;
    for (int i = 0; i < 30'000; ++i) large.take(as_bytes(rtp(1, fragment + std::string(1400, 'x'))));
    EXPECT_FALSE(large.are_too_many());
  }
  UnitsInRtp odd;
  for (const std::string& packet : {std::string(), rtp(1, ""), rtp(1, "\x78"), bytes({0x9f, 96, 0})})
    odd.take(as_bytes(packet));
  EXPECT_FALSE(odd.are_too_many());
}

// 480,000 of them took 2 GB.
TEST(ManyUnits, OfAFileAreRefused) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "bomb.h264";
  const std::string sets =
      bytes({0, 0, 0, 1, 0x67, 0x42, 0xc0, 0x0a, 0xdd, 0x0a, 0x0d, 0xc8, 0, 0, 0, 1, 0x68, 0xce, 0x0f, 0x2c, 0x80});
  std::ofstream(path, std::ios::binary) << sets << bytes({0, 0, 1, 0x65, 0x88, 0x84}) << std::string(100, 'x')
                                        << repeated(bytes({0, 0, 1, 12}), 400'000);
  SourceConfig config;
  config.url = path;
  try {
    const auto source = open_source(config, [] { return false; });
    const AvPacket packet = make_av_packet();
    while (source->read(*packet) != ReadResult::end) av_packet_unref(packet.get());
    ADD_FAILURE() << "it was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AnyOf(HasSubstr("Invalid data"), HasSubstr("NAL units")));
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
