// The filter `denoise`: against its rule, sample by sample, and against frames without noise.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "kernels/denoise_rule.h"
#include "stages/filters/denoise_rows.h"
#include "stages/filters/filter.h"
#include "tests/unit/filter_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

Picture denoised(const Picture& in, double strength, int patch, int window) {
  const auto filter = known_filter("denoise").create({{"strength", strength}, {"patch", patch}, {"window", window}});
  Picture out(filter->configure(in.view.format));
  filter->process(as_const(in.view), out.view);
  return out;
}

// One component of a frame; what lies outside of it is its edge.
struct Component {
  int width, height;
  std::vector<int> samples;

  Component(Picture& picture, int plane, int channels, int channel)
      : width(plane_size(picture.view.format, plane).width / channels),
        height(plane_size(picture.view.format, plane).height) {
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) samples.push_back(picture.at(plane, x * channels + channel, y));
  }
  [[nodiscard]] int at(int x, int y) const {
    return samples[static_cast<std::size_t>(std::clamp(y, 0, height - 1) * width + std::clamp(x, 0, width - 1))];
  }
};

// Straight from the formula: every patch of every window by itself.
int expected_sample(const Component& in, int x, int y, const DenoiseRule& rule) {
  const int reach = rule.window / 2, radius = rule.patch / 2;
  unsigned weights = 0, sum = 0;
  for (int down = -reach; down <= reach; ++down)
    for (int right = -reach; right <= reach; ++right) {
      unsigned squares = 0;
      for (int v = y - radius; v <= y + radius; ++v)
        for (int u = x - radius; u <= x + radius; ++u) {
          const int difference = in.at(u, v) - in.at(u + right, v + down);
          squares += static_cast<unsigned>(difference * difference);
        }
      const unsigned weight = rule.weight(squares);
      weights += weight;
      sum += weight * static_cast<unsigned>(in.at(x + right, y + down));
    }
  return static_cast<int>((sum + weights / 2) / weights);
}

void add_noise(Picture& picture, double deviation, unsigned seed = 1) {
  std::minstd_rand random(seed);
  std::normal_distribution<double> noise(0, deviation);
  picture.each([&](std::uint8_t& sample, int, int, int) {
    sample = static_cast<std::uint8_t>(std::clamp(std::lround(sample + noise(random)), 0L, 255L));
  });
}

TEST(Denoise, IsTheRule) {
  struct Case {
    double strength;
    int patch, window;
  };
  for (const auto [width, height] :
       {std::array{1, 1}, {2, 2}, {1, 9}, {9, 1}, {3, 5}, {7, 8}, {23, 7}, {37, 16}, {131, 33}, {270, 9}})
    for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12})
      for (const Case& it : {Case{4, 5, 9}, {1, 3, 3}, {16, 7, 15}, {16, 3, 5}, {11.5, 7, 7}}) {
        SCOPED_TRACE(testing::Message() << width << "x" << height << ", strength " << it.strength << ", patch "
                                        << it.patch << ", window " << it.window);
        const DenoiseRule rule = denoise_rule(it.strength, it.patch, it.window);
        const FrameFormat format = format_of(pixels, width, height);
        Picture random = random_picture(format), noisy = structured_picture(format);
        add_noise(noisy, it.strength);
        for (Picture* in : {&random, &noisy}) {
          Picture out = denoised(*in, it.strength, it.patch, it.window);
          for (int plane = 0; plane < plane_count(pixels); ++plane) {
            const int channels = pixels == PixelFormat::nv12 && plane == 1 ? 2 : 1;
            for (int channel = 0; channel < channels; ++channel) {
              const Component component(*in, plane, channels, channel);
              for (int y = 0; y < component.height; ++y)
                for (int x = 0; x < component.width; ++x)
                  ASSERT_EQ(out.at(plane, x * channels + channel, y), expected_sample(component, x, y, rule))
                      << plane << " " << channel << " " << x << " " << y;
            }
          }
        }
      }
}

TEST(Denoise, WeighsLessWhatIsLessAlike) {
  for (const int patch : {3, 5, 7})
    for (const double strength : {1.0, 1.3, 4.0, 16.0}) {
      const DenoiseRule rule = denoise_rule(strength, patch, 9);
      ASSERT_LE(rule.cutoff, 65535U);
      ASSERT_LE(rule.scale, 65535U);
      EXPECT_LE(rule.weight(0), 4096U);
      EXPECT_EQ(rule.weight(rule.cutoff), 0U);
      EXPECT_EQ(rule.weight(65535), 0U);
      EXPECT_EQ(rule.weight(255U * 255 * 49), 0U);
      for (unsigned squares = 1; squares <= rule.cutoff; ++squares)
        ASSERT_LE(rule.weight(squares), rule.weight(squares - 1)) << squares;
      // Two patches that differ by noise alone.
      const double noise = 2 * strength * strength * patch * patch;
      const double weight = rule.weight(static_cast<unsigned>(noise));
      EXPECT_NEAR(weight / rule.weight(0), 0.36, 0.03) << "patch " << patch << ", strength " << strength;
    }
}

// Of all sums, those beside the next higher quotient are the ones that floats would get wrong.
TEST(Denoise, DividesExactly) {
  constexpr int most = most_denoise_window * most_denoise_window * 4096;
  const std::array<std::uint8_t, denoise_block> own{};
  std::array<std::int32_t, denoise_block> weights{}, samples{};
  std::array<std::uint8_t, denoise_block> quotients{};
  for (int sum = 1; sum <= most; sum += sum < 5000 ? 1 : 97)
    for (int level = 0; level < 256; level += 5) {
      for (int i = 0; i < denoise_block; ++i) {
        const auto at = static_cast<std::size_t>(i);
        weights[at] = sum;
        samples[at] = std::clamp(level * sum - sum / 2 + i - denoise_block / 2, 0, 255 * sum);
      }
      divide_sums(weights.data(), samples.data(), 0, own.data(), denoise_block, quotients.data());
      for (std::size_t i = 0; i < quotients.size(); ++i)
        ASSERT_EQ(quotients[i], (samples[i] + sum / 2) / sum) << samples[i] << " / " << sum;
    }
}

// A scene in which a disc, a bar and the texture of the ground move, at `time` in frames.
Picture scene(int time) {
  Picture picture(format_of(PixelFormat::nv12, 320, 241));
  picture.each([&](std::uint8_t& sample, int plane, int column, int row) {
    const double x = plane == 0 ? column : column / 2 * 2, y = plane == 0 ? row : 2 * row;
    const bool v = plane == 1 && column % 2 == 1;
    double level = 110 + 40 * std::sin((x - 3 * time) / 9) * std::cos(y / 14) + (v ? 20 : 0);
    const double disc = std::hypot(x - 100 - 7 * time, y - 120) - 50;
    level += (200 - level) * std::clamp(0.5 - disc / 2, 0.0, 1.0);
    const double bar = std::abs((x - 250 + 7 * time) - (y - 120) / 2) - 12;
    level += (30 - level) * std::clamp(0.5 - bar / 2, 0.0, 1.0);
    sample = static_cast<std::uint8_t>(std::lround(level));
  });
  return picture;
}

TEST(Denoise, TakesNoiseAway) {
  for (const double deviation : {2.0, 4.0, 8.0, 12.0})
    for (int time = 0; time < 3; ++time) {
      Picture clean = scene(time), noisy = scene(time);
      add_noise(noisy, deviation, static_cast<unsigned>(time) + 1);
      Picture out = denoised(noisy, deviation, 5, 9);
      const double before = psnr(clean, noisy), after = psnr(clean, out);
      RecordProperty("psnr", testing::PrintToString(before) + " " + testing::PrintToString(after));
      EXPECT_GT(after, before + 4) << "deviation " << deviation << ", " << before << " dB before";
    }
}

TEST(Denoise, KeepsEdges) {
  for (const double strength : {2.0, 4.0, 8.0}) {
    Picture clean = scene(0);
    Picture out = denoised(clean, strength, 5, 9);
    double apart = 0, samples = 0;
    int most = 0;
    out.each([&](std::uint8_t& sample, int plane, int x, int y) {
      const int by = std::abs(sample - clean.at(plane, x, y));
      apart += by;
      most = std::max(most, by);
      ++samples;
    });
    EXPECT_LT(apart / samples, 0.25 * strength) << "strength " << strength;
    EXPECT_LT(most, 3 * strength) << "strength " << strength;
  }
}

// Black and white in blocks and lines, nothing of which is noise.
TEST(Denoise, LeavesWhatStandsOutAsItIs) {
  const Picture in = structured_picture(format_of(PixelFormat::nv12, 131, 77));
  EXPECT_EQ(denoised(in, 8, 5, 9).planes, in.planes);
  Picture dot(format_of(PixelFormat::i420, 64, 64), 60);
  dot.at(0, 30, 30) = 200;
  EXPECT_EQ(denoised(dot, 8, 5, 9).planes, dot.planes);
}

// So that a frame may be cut into bands.
TEST(Denoise, LooksNoFurtherThanItsWindowAndPatch) {
  constexpr int patch = 5, window = 9, changed = 40;
  Picture in = random_picture(format_of(PixelFormat::i420, 70, 80)), other = random_picture(in.view.format);
  // Little contrast, so that samples count for each other.
  for (Picture* picture : {&in, &other})
    picture->each([](std::uint8_t& sample, int, int, int) { sample = static_cast<std::uint8_t>(100 + sample % 16); });
  for (int x = 0; x < 70; ++x) other.at(0, x, changed) = static_cast<std::uint8_t>(other.at(0, x, changed) ^ 8);
  Picture out = denoised(in, 8, patch, window), other_out = denoised(other, 8, patch, window);
  int different = 0;
  out.each([&](std::uint8_t& sample, int plane, int x, int y) {
    if (sample == other_out.at(plane, x, y)) return;
    ASSERT_EQ(plane, 0);
    ASSERT_LE(std::abs(y - changed), patch / 2 + window / 2);
    ++different;
  });
  EXPECT_GT(different, 70);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
