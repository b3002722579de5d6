// Where fit puts the frame and what lies around it. That it computes the frame as resize does is tested here too; what
// all filters promise is in filters_test.cpp.
#include <gtest/gtest.h>

#include <array>

#include "core/frame_colour.h"
#include "core/frame_region.h"
#include "stages/filters/filter.h"
#include "tests/unit/filter_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

constexpr int red = 200, green = 30, blue = 90;

Picture filtered(std::string_view name, const FilterParameters& parameters, const Picture& in) {
  const auto filter = find_filter(name)->create(complete_parameters(known_filter(name), parameters));
  Picture out(filter->configure(in.view.format));
  filter->process(as_const(in.view), out.view);
  return out;
}

Picture fitted(const Picture& in, int width, int height) {
  return filtered("fit", {{"width", width}, {"height", height}, {"red", red}, {"green", green}, {"blue", blue}}, in);
}

struct Case {
  const char* name;
  int width, height;           // of the input
  int aspect_num, aspect_den;  // of its samples
  int to_width, to_height;     // of the output
  FrameRegion inner;           // what is not background
  friend std::ostream& operator<<(std::ostream& out, const Case& of) { return out << of.name; }
};

class Fit : public testing::TestWithParam<Case> {};

TEST_P(Fit, ScalesIntoTheMiddle) {
  const Case& expected = GetParam();
  for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12}) {
    FrameFormat format = format_of(pixels, expected.width, expected.height);
    format.sample_aspect_num = expected.aspect_num;
    format.sample_aspect_den = expected.aspect_den;
    const Picture in = random_picture(format);
    Picture out = fitted(in, expected.to_width, expected.to_height);
    ASSERT_EQ(out.view.format.width, expected.to_width);
    ASSERT_EQ(out.view.format.height, expected.to_height);
    EXPECT_EQ(out.view.format.sample_aspect_num, expected.aspect_num == 0 ? 0 : 1);
    EXPECT_EQ(out.view.format.sample_aspect_den, 1);

    const FrameRegion& inner = expected.inner;
    const FilterParameters size{{"width", inner.width}, {"height", inner.height}};
    Picture scaled = inner.width < 16 || inner.height < 16 ? Picture(format) : filtered("resize", size, in);
    const bool can_compare = inner.width >= 16 && inner.height >= 16;
    const YuvColour colour = yuv_colour({red, green, blue}, format);
    long outside = 0;
    out.each([&](std::uint8_t& sample, int plane, int x, int y) {
      const bool nv12_chroma = plane == 1 && pixels == PixelFormat::nv12;
      const int across = plane == 0 || nv12_chroma ? 1 : 2, down = plane == 0 ? 1 : 2;
      const int left = inner.x / across, top = inner.y / down;
      const bool inside = x >= left && x < left + inner.width / across && y >= top && y < top + inner.height / down;
      const bool is_v = plane == 2 || (nv12_chroma && x % 2 == 1);
      outside += inside ? 0 : 1;
      if (!inside) {
        ASSERT_EQ(sample, plane == 0 ? colour.y : is_v ? colour.v : colour.u) << plane << ": " << x << ", " << y;
      } else if (can_compare) {
        ASSERT_EQ(sample, scaled.at(plane, x - left, y - top)) << plane << ": " << x << ", " << y;
      }
    });
    const long all = expected.to_width * expected.to_height, filled = inner.width * inner.height;
    EXPECT_EQ(outside, (all - filled) * 3 / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Fit,
                         testing::Values(Case{"SameShape", 320, 180, 0, 1, 160, 90, {0, 0, 160, 90}},
                                         Case{"BarsAtTheSides", 320, 240, 0, 1, 320, 180, {40, 0, 240, 180}},
                                         Case{"BarsAboveAndBelow", 320, 180, 0, 1, 160, 120, {0, 14, 160, 90}},
                                         Case{"WideSamples", 352, 288, 12, 11, 160, 120, {0, 0, 160, 120}},
                                         Case{"NarrowSamples", 320, 180, 3, 4, 160, 90, {20, 0, 120, 90}},
                                         Case{"SquareSamples", 320, 180, 1, 1, 160, 160, {0, 34, 160, 90}},
                                         Case{"Grows", 100, 50, 0, 1, 640, 640, {0, 160, 640, 320}},
                                         Case{"OddInput", 101, 51, 0, 1, 64, 64, {0, 16, 64, 32}},
                                         Case{"Upright", 180, 320, 0, 1, 320, 180, {108, 0, 102, 180}},
                                         Case{"HardlyThere", 1, 400, 0, 1, 64, 64, {30, 0, 2, 64}}),
                         [](const auto& of) { return of.param.name; });

TEST(FitBackground, NeedsNoRows) {
  const FilterParameters size{{"width", 160}, {"height", 120}};
  const auto filter = known_filter("fit").create(complete_parameters(known_filter("fit"), size));
  filter->configure(format_of(PixelFormat::nv12, 320, 180));  // rows 14 to 103 show it, of chroma 7 to 51
  for (const RowRange rows : {RowRange{0, 14}, {104, 120}}) EXPECT_EQ(filter->needs(0, rows).count(), 0) << rows.begin;
  for (const RowRange rows : {RowRange{0, 7}, {52, 60}}) EXPECT_EQ(filter->needs(1, rows).count(), 0) << rows.begin;
  EXPECT_EQ(filter->needs(0, {0, 15}).begin, 0);
  EXPECT_EQ(filter->needs(0, {13, 16}), filter->needs(0, {14, 16}));
  EXPECT_EQ(filter->needs(0, {24, 26}).begin, 20) << "half the size, 14 rows below";
  EXPECT_EQ(filter->needs(1, {17, 18}).begin, 20);
  EXPECT_EQ(filter->needs(0, {103, 120}), filter->needs(0, {103, 104}));
}

TEST(FitBackground, IsTheColourOfTheFramesMatrixAndRange) {
  constexpr std::uint8_t bt709 = 1, full = 2;
  FrameFormat format = format_of(PixelFormat::i420, 64, 64);
  EXPECT_EQ(yuv_colour({0, 0, 0}, format), (YuvColour{16, 128, 128}));
  EXPECT_EQ(yuv_colour({255, 255, 255}, format), (YuvColour{235, 128, 128}));
  EXPECT_EQ(yuv_colour({255, 0, 0}, format), (YuvColour{81, 90, 240}));
  EXPECT_EQ(yuv_colour({0, 255, 0}, format), (YuvColour{145, 54, 34}));
  EXPECT_EQ(yuv_colour({0, 0, 255}, format), (YuvColour{41, 240, 110}));
  format.color_space = bt709;
  EXPECT_EQ(yuv_colour({255, 0, 0}, format), (YuvColour{63, 102, 240}));
  format.color_range = full;
  EXPECT_EQ(yuv_colour({0, 0, 0}, format), (YuvColour{0, 128, 128}));
  EXPECT_EQ(yuv_colour({255, 255, 255}, format), (YuvColour{255, 128, 128}));
  EXPECT_EQ(yuv_colour({0, 0, 255}, format), (YuvColour{18, 255, 116}));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
