// The filter `rotate`, against OpenCV's rotate().
#include <gtest/gtest.h>

#include <array>
#include <opencv2/core.hpp>

#include "stages/filters/filter.h"
#include "tests/unit/filter_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

Picture rotated(const Picture& in, int angle, bool mirror = false) {
  const auto filter = known_filter("rotate").create({{"angle", angle}, {"mirror", mirror ? 1 : 0}});
  Picture out(filter->configure(in.view.format));
  filter->process(as_const(in.view), out.view);
  return out;
}

// A copy, with pairs of chroma as one element.
cv::Mat as_mat(const Picture& picture, int plane) {
  const auto i = static_cast<std::size_t>(plane);
  const PlaneSize size = plane_size(picture.view.format, plane);
  const int channels = plane == 1 && picture.view.format.pixels == PixelFormat::nv12 ? 2 : 1;
  return cv::Mat(size.height, size.width / channels, CV_8UC(channels), picture.view.data[i],
                 static_cast<std::size_t>(picture.view.stride[i]))
      .clone();
}

void for_pictures(const std::function<void(Picture&)>& check) {
  for (const auto [width, height] :
       {std::array{1, 1}, {2, 2}, {1, 40}, {40, 1}, {17, 9}, {16, 16}, {130, 75}, {641, 361}})
    for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12}) {
      SCOPED_TRACE(testing::Message() << width << "x" << height << (pixels == PixelFormat::nv12 ? " nv12" : " i420"));
      Picture in = random_picture(format_of(pixels, width, height));
      check(in);
    }
}

TEST(Rotate, IsOpenCvs) {
  constexpr std::array<std::pair<int, int>, 3> angles{
      {{90, cv::ROTATE_90_CLOCKWISE}, {180, cv::ROTATE_180}, {270, cv::ROTATE_90_COUNTERCLOCKWISE}}};
  for_pictures([&](Picture& in) {
    for (const auto& [angle, code] : angles) {
      const Picture out = rotated(in, angle);
      for (int plane = 0; plane < plane_count(in.view.format.pixels); ++plane) {
        cv::Mat expected;
        cv::rotate(as_mat(in, plane), expected, code);
        const cv::Mat got = as_mat(out, plane);
        ASSERT_EQ(got.size(), expected.size());
        EXPECT_EQ(cv::norm(got, expected, cv::NORM_L1), 0) << "plane " << plane << " by " << angle;
      }
    }
  });
}

TEST(Rotate, MirrorsBehindTheTurnAsOpenCvDoes) {
  constexpr std::array<std::pair<int, int>, 4> angles{
      {{0, -1}, {90, cv::ROTATE_90_CLOCKWISE}, {180, cv::ROTATE_180}, {270, cv::ROTATE_90_COUNTERCLOCKWISE}}};
  for_pictures([&](Picture& in) {
    for (const auto& [angle, code] : angles) {
      const Picture out = rotated(in, angle, true);
      for (int plane = 0; plane < plane_count(in.view.format.pixels); ++plane) {
        cv::Mat turned = as_mat(in, plane);
        if (code >= 0) cv::rotate(as_mat(in, plane), turned, code);
        cv::Mat expected;
        cv::flip(turned, expected, 1);
        const cv::Mat got = as_mat(out, plane);
        ASSERT_EQ(got.size(), expected.size());
        EXPECT_EQ(cv::norm(got, expected, cv::NORM_L1), 0) << "plane " << plane << " by " << angle;
      }
    }
  });
}

TEST(Rotate, FourTimesIsNothing) {
  for_pictures([](Picture& in) {
    for (const int angle : {90, 270})
      EXPECT_EQ(rotated(rotated(rotated(rotated(in, angle), angle), angle), angle).planes, in.planes);
    EXPECT_EQ(rotated(rotated(in, 180), 180).planes, in.planes);
    EXPECT_EQ(rotated(rotated(in, 90), 90).planes, rotated(in, 180).planes);
  });
}

TEST(Rotate, TurnsTheFormat) {
  FrameFormat in = format_of(PixelFormat::i420, 704, 576);
  in.color_space = 5;
  const auto format_after = [&](int angle) { return known_filter("rotate").create({{"angle", angle}})->configure(in); };
  EXPECT_EQ(format_after(180), in);
  EXPECT_EQ(format_after(90).sample_aspect_num, 0) << "unknown stays unknown";
  EXPECT_EQ(format_after(90).sample_aspect_den, 1);
  in.sample_aspect_num = 12, in.sample_aspect_den = 11;
  in.chroma_location = 1;  // to the left: no more
  FrameFormat expected = in;
  expected.chroma_location = 0;
  EXPECT_EQ(format_after(180), expected);
  expected.width = 576, expected.height = 704;
  expected.sample_aspect_num = 11, expected.sample_aspect_den = 12;
  EXPECT_EQ(format_after(90), expected);
  EXPECT_EQ(format_after(270), expected);
  in.chroma_location = 2;
  EXPECT_EQ(format_after(90).chroma_location, 2);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
