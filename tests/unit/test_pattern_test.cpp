#include "core/test_pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "core/error.h"
#include "core/ffmpeg.h"

namespace campipe {
namespace CAMPIPE_FILE {

FrameFormat i420(int width, int height) { return {.pixels = PixelFormat::i420, .width = width, .height = height}; }

struct Picture {
  explicit Picture(const FrameFormat& format, std::uint8_t fill = 0, int padding = 5) {
    view.format = format;
    for (std::size_t i = 0; i < 3; ++i) {
      const PlaneSize size = plane_size(format, static_cast<int>(i));
      view.stride[i] = size.width + padding;
      planes[i].assign(static_cast<std::size_t>(view.stride[i]) * static_cast<std::size_t>(size.height), fill);
      view.data[i] = planes[i].data();
    }
  }
  Picture(Picture&&) = default;
  Picture& operator=(Picture&&) = default;

  std::array<std::vector<std::uint8_t>, 3> planes;
  MutableFrameView view;
};

Picture painted(const PatternCode& code, const FrameFormat& format, std::uint8_t fill = 0) {
  Picture picture(format, fill);
  PatternPainter(format).paint(code, picture.view);
  return picture;
}

Picture scaled(const Picture& in, int width, int height, int method) {
  Picture out(i420(width, height));
  const Scaler scaler(sws_getContext(in.view.format.width, in.view.format.height, AV_PIX_FMT_YUV420P, width, height,
                                     AV_PIX_FMT_YUV420P, method, nullptr, nullptr, nullptr));
  sws_scale(scaler.get(), in.view.data.data(), in.view.stride.data(), 0, in.view.format.height, out.view.data.data(),
            out.view.stride.data());
  return out;
}

// What an encoder at a hopeless bit rate leaves: a few levels, and the means of blocks.
void quantise(Picture& picture, int block, int step) {
  const auto [width, height] = plane_size(picture.view.format, 0);
  const auto at = [&](int x, int y) -> std::uint8_t& { return picture.view.data[0][y * picture.view.stride[0] + x]; };
  for (int top = 0; top + block <= height; top += block)
    for (int left = 0; left + block <= width; left += block) {
      int sum = 0;
      for (int i = 0; i < block * block; ++i) sum += at(left + i % block, top + i / block);
      const int mean = sum / (block * block) / step * step;
      for (int i = 0; i < block * block; ++i) at(left + i % block, top + i / block) = static_cast<std::uint8_t>(mean);
    }
}

void for_visible_luma(Picture& picture, const std::function<void(std::uint8_t&)>& change) {
  for (std::uint8_t& sample : picture.planes[0]) change(sample);
}

std::optional<PatternCode> code_in(const Picture& picture) { return read_pattern(as_const(picture.view)); }

constexpr PatternCode usual{.number = 123456, .utc_us = 1'760'000'000'123'456};

TEST(TestPattern, IsReadInEverySize) {
  for (const auto [width, height] : {std::array{160, 120},
                                     {161, 121},
                                     {320, 240},
                                     {640, 360},
                                     {854, 480},
                                     {1280, 720},
                                     {1366, 768},
                                     {1920, 1080},
                                     {1080, 1920},
                                     {3840, 2160}})
    EXPECT_EQ(code_in(painted(usual, i420(width, height))), usual) << width << "x" << height;
}

TEST(TestPattern, CarriesEveryValue) {
  using Time = std::numeric_limits<std::int64_t>;
  for (const PatternCode code : {PatternCode{0, 0},
                                 {0xFFFFFFFF, Time::max()},
                                 {1, -1},
                                 {0x80000000, Time::min()},
                                 {0x12345678, 0x0123456789ABCDEF}})
    EXPECT_EQ(code_in(painted(code, i420(320, 240))), code) << code.number;
}

TEST(TestPattern, CodeLiesWhereTheHeaderSays) {
  const Picture picture = painted({.number = 0x80000001, .utc_us = 0}, i420(320, 240));
  const auto cell = [&](int column, int row) {
    return picture.view.data[0][(row * 10 + 5) * picture.view.stride[0] + column * 10 + 5];
  };
  EXPECT_EQ(cell(0, 0), 235);
  EXPECT_EQ(cell(1, 0), 16);
  EXPECT_EQ(cell(15, 1), 235);
  // CRC-32 of 80 00 00 01 00 00 00 00 00 00 00 00, by zlib.
  std::uint32_t crc = 0;
  for (int i = 0; i < 32; ++i) crc = crc << 1 | (cell(i % 16, 6 + i / 16) == 235);
  EXPECT_EQ(crc, 0xc69bdccu);
}

TEST(TestPattern, SurvivesScaling) {
  for (const auto [width, height] : {std::array{80, 60}, {100, 75}, {320, 240}, {426, 240}, {640, 480}, {1280, 720}})
    for (const int method : {SWS_FAST_BILINEAR, SWS_BICUBIC, SWS_AREA}) {
      EXPECT_EQ(code_in(scaled(painted(usual, i420(1280, 720)), width, height, method)), usual)
          << width << " " << method;
      EXPECT_EQ(code_in(scaled(painted(usual, i420(160, 120)), width, height, method)), usual)
          << width << " " << method;
    }
}

TEST(TestPattern, SurvivesHeavyQuantisation) {
  Picture picture = painted(usual, i420(640, 480));
  quantise(picture, 8, 60);
  EXPECT_EQ(code_in(picture), usual);
}

TEST(TestPattern, SurvivesOffsetsAndLowContrast) {
  for (const int offset : {-60, -15, 15, 60}) {
    Picture picture = painted(usual, i420(320, 240));
    for_visible_luma(picture, [&](std::uint8_t& sample) {
      sample = static_cast<std::uint8_t>(std::clamp(128 + (sample - 128) * 2 / 3 + offset, 0, 255));
    });
    EXPECT_EQ(code_in(picture), usual) << offset;
  }
}

TEST(TestPattern, ReadsNothingWhereThereIsNothing) {
  for (const std::uint8_t level : {0, 127, 255}) EXPECT_EQ(code_in(Picture(i420(640, 480), level)), std::nullopt);
  EXPECT_EQ(code_in(Picture(i420(79, 60))), std::nullopt);
  EXPECT_EQ(code_in(Picture(i420(0, 0))), std::nullopt);
}

TEST(TestPattern, ReadsNothingWithOneWrongCell) {
  for (int cell = 0; cell < 128; ++cell) {
    Picture picture = painted(usual, i420(160, 120));
    for (int i = 0; i < 25; ++i) {
      std::uint8_t& sample =
          picture.view.data[0][(cell / 16 * 5 + i / 5) * picture.view.stride[0] + cell % 16 * 5 + i % 5];
      sample = sample < 128 ? 235 : 16;
    }
    EXPECT_EQ(code_in(picture), std::nullopt) << cell;
  }
}

TEST(TestPattern, FillsEverySampleAndNoPadding) {
  for (const FrameFormat& format : {i420(160, 120), i420(163, 121), i420(854, 480)}) {
    const Picture over_1 = painted(usual, format, 1);
    const Picture over_2 = painted(usual, format, 2);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t at = 0; at < over_1.planes[i].size(); ++at) {
        const int x = static_cast<int>(at) % over_1.view.stride[i];
        const bool padding = x >= plane_size(format, static_cast<int>(i)).width;
        ASSERT_EQ(over_1.planes[i][at] == 1 && over_2.planes[i][at] == 2, padding) << "plane " << i << ", x " << x;
      }
  }
}

TEST(TestPattern, Moves) {
  const Picture first = painted({.number = 1, .utc_us = 5}, i420(320, 240));
  const Picture second = painted({.number = 2, .utc_us = 5}, i420(320, 240));
  const auto lower_half = [](const Picture& p) { return p.planes[0].begin() + std::ssize(p.planes[0]) / 2; };
  EXPECT_FALSE(std::equal(lower_half(first), first.planes[0].end(), lower_half(second)));
}

TEST(TestPattern, RefusesWhatItCannotPaint) {
  EXPECT_THROW(PatternPainter{i420(159, 120)}, Error);
  EXPECT_THROW(PatternPainter{i420(160, 119)}, Error);
  FrameFormat nv12 = i420(640, 480);
  nv12.pixels = PixelFormat::nv12;
  EXPECT_THROW(PatternPainter{nv12}, Error);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
