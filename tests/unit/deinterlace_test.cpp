// The filter `deinterlace`: against its rule, and against frames that were never interlaced.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "kernels/deinterlace_rule.h"
#include "stages/filters/filter.h"
#include "tests/unit/filter_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

Picture deinterlaced(const Picture& in, int field) {
  const auto filter = known_filter("deinterlace").create({{"field", field}});
  Picture out(filter->configure(in.view.format));
  filter->process(as_const(in.view), out.view);
  return out;
}

// The rule, sample by sample.
int expected_sample(Picture& in, int plane, int x, int y, int field) {
  if (y % 2 == field) return in.at(plane, x, y);
  const PlaneSize size = plane_size(in.view.format, plane);
  const int channels = plane == 1 && in.view.format.pixels == PixelFormat::nv12 ? 2 : 1;
  const auto sample = [&](int right, int down) {
    const int column = mirrored(x / channels + right, size.width / channels);
    return in.at(plane, column * channels + x % channels, mirrored(y + down, size.height));
  };
  bool keep = true;
  for (const int k : {-1, 0, 1})
    keep = keep && !is_combed(sample(k, -2), sample(k, -1), sample(k, 0), sample(k, 1), sample(k, 2));
  if (keep) return in.at(plane, x, y);
  const auto in_line = [&](int down) { return [&, down](int k) -> int { return sample(k, down); }; };
  const std::function<int(int)> above = in_line(-1), below = in_line(1);
  return edge_directed(above, below);
}

TEST(Deinterlace, IsTheRule) {
  for (const auto [width, height] : {std::array{1, 1}, {2, 2}, {1, 9}, {9, 1}, {3, 5}, {23, 7}, {37, 16}, {131, 33}})
    for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12})
      for (const int field : {0, 1}) {
        SCOPED_TRACE(testing::Message() << width << "x" << height << ", field " << field);
        const FrameFormat format = format_of(pixels, width, height);
        Picture random = random_picture(format), structured = structured_picture(format);
        for (Picture* in : {&random, &structured})
          deinterlaced(*in, field).each([&](std::uint8_t& sample, int plane, int x, int y) {
            ASSERT_EQ(sample, expected_sample(*in, plane, x, y, field)) << plane << " " << x << " " << y;
          });
      }
}

// A scene in which a disc, a bar and the texture of the ground move, at `time` in frames.
Picture scene(double time, double speed) {
  Picture picture(format_of(PixelFormat::nv12, 320, 241));
  const double by = time * speed;
  picture.each([&](std::uint8_t& sample, int plane, int column, int row) {
    const double x = plane == 0 ? column : column / 2 * 2, y = plane == 0 ? row : 2 * row;
    const bool v = plane == 1 && column % 2 == 1;
    double level = 110 + 40 * std::sin((x - by / 2) / 9) * std::cos(y / 14) + (v ? 20 : 0);
    const double disc = std::hypot(x - 100 - by, y - 120) - 50;
    level += (200 - level) * std::clamp(0.5 - disc / 2, 0.0, 1.0);
    const double bar = std::abs((x - 250 + by) - (y - 120) / 2) - 12;
    level += (30 - level) * std::clamp(0.5 - bar / 2, 0.0, 1.0);
    sample = static_cast<std::uint8_t>(std::lround(level));
  });
  return picture;
}

// What an interlaced camera makes of it: the lines of the two fields are half a frame's time apart.
Picture woven(double speed, int first_field) {
  Picture first = scene(1, speed), second = scene(1.5, speed);
  second.each([&](std::uint8_t& sample, int plane, int x, int y) {
    if (y % 2 == first_field) sample = first.at(plane, x, y);
  });
  return second;
}

TEST(Deinterlace, TakesTheCombingAway) {
  for (const int field : {0, 1})
    for (const double speed : {4.0, 12.0, 30.0}) {
      Picture original = scene(1, speed), combed = woven(speed, field);
      Picture out = deinterlaced(combed, field);
      const double before = psnr(original, combed), after = psnr(original, out);
      RecordProperty("psnr", testing::PrintToString(after));
      EXPECT_GT(after, before + 4) << "speed " << speed << ", " << before << " dB before";
      EXPECT_GT(after, 36) << "speed " << speed;
    }
}

TEST(Deinterlace, LeavesAStillPictureAsItIs) {
  for (const int field : {0, 1}) {
    const Picture in = scene(1, 8);
    EXPECT_EQ(deinterlaced(in, field).planes, in.planes);
  }
}

TEST(Deinterlace, LeavesASingleLineThatStands) {
  Picture in(format_of(PixelFormat::i420, 64, 33), 60);
  for (int x = 10; x < 50; ++x) in.at(0, x, 16) = in.at(0, x, 21) = 200;
  for (const int field : {0, 1}) EXPECT_EQ(deinterlaced(in, field).planes, in.planes);
}

TEST(Deinterlace, KeepsItsField) {
  for (const int field : {0, 1}) {
    Picture in = random_picture(format_of(PixelFormat::nv12, 131, 66));
    Picture out = deinterlaced(in, field);
    out.each([&](std::uint8_t& sample, int plane, int x, int y) {
      ASSERT_TRUE(y % 2 != field || sample == in.at(plane, x, y)) << plane << " " << x << " " << y;
    });
  }
}

// An edge of 45° that jumps to the right between the fields: the line in between lies on it.
TEST(Deinterlace, FollowsEdges) {
  const auto level = [](int x, int y, int jump) { return x - jump > y ? 200 : 50; };
  Picture in(format_of(PixelFormat::i420, 80, 40), 128);
  for (int y = 0; y < 40; ++y)
    for (int x = 0; x < 80; ++x) in.at(0, x, y) = static_cast<std::uint8_t>(level(x, y, 10 + y % 2 * 12));
  Picture out = deinterlaced(in, 0);
  for (int y = 3; y < 36; ++y)
    for (int x = 4; x < 76; ++x) ASSERT_NEAR(out.at(0, x, y), level(x, y, 10), 0) << x << " " << y;
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
