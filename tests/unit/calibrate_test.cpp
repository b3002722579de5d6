// What costs are measured with. No time of this machine is expected: only that the same is measured as the same, and
// more as more.
#include "app/calibrate/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "app/calibrate/clip.h"
#include "app/calibrate/footage.h"
#include "app/calibrate/stopwatch.h"

namespace campipe {
namespace CAMPIPE_FILE {

FrameFormat frames_of(int width, int height) {
  FrameFormat format;
  format.width = width;
  format.height = height;
  return format;
}

std::size_t luma_bytes(const FrameRef& frame) {
  return static_cast<std::size_t>(frame.view.format.width) * static_cast<std::size_t>(frame.view.format.height);
}

TEST(Footage, IsTheSameEachTime) {
  const FrameFormat size = frames_of(640, 360);
  const FrameRef one = Footage(size).frame(3), other = Footage(size).frame(3);
  EXPECT_EQ(std::memcmp(one.view.data[0], other.view.data[0], luma_bytes(one)), 0);
}

TEST(Footage, MovesInAPart) {
  const Footage footage(frames_of(640, 360));
  const FrameRef before = footage.frame(5), after = footage.frame(6);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < luma_bytes(before); ++i)
    moved += std::abs(int{before.view.data[0][i]} - int{after.view.data[0][i]}) > 8 ? 1 : 0;
  const double part = static_cast<double>(moved) / static_cast<double>(luma_bytes(before));
  EXPECT_GT(part, 0.01);
  EXPECT_LT(part, 0.4);
}

TEST(Footage, OfTwoMomentsCombs) {
  const Footage whole(frames_of(640, 360)), combed(frames_of(640, 360), true);
  const FrameRef one = whole.frame(10), other = combed.frame(5);
  EXPECT_EQ(std::memcmp(one.view.data[0], other.view.data[0], 640), 0) << "the first line is of moment 10";
  EXPECT_NE(std::memcmp(one.view.data[0], other.view.data[0], luma_bytes(one)), 0);
}

TEST(Stopwatch, CountsWorkAndNoWaiting) {
  volatile double sink = 0;
  const auto work = [&](int times) {
    return cpu_us_of([&] {
      for (int i = 0; i < times * 1000; ++i) sink = sink + 1;
    });
  };
  EXPECT_GT(work(40), 2 * work(4)) << "ten times as much";
  int calls = 0;
  cpu_us_of([&] { ++calls; }, {.round = std::chrono::milliseconds(0), .total = std::chrono::milliseconds(0)});
  EXPECT_EQ(calls, 3) << "one that does not count, and the least number of rounds";
}

class Clips : public testing::TestWithParam<const char*> {};

TEST_P(Clips, AreEncodedAndDecoded) {
  const EncodedFootage small = encode_footage(GetParam(), frames_of(320, 192));
  const EncodedFootage large = encode_footage(GetParam(), frames_of(1280, 768));
  EXPECT_GT(small.us, 0);
  EXPECT_GT(large.us, 2 * small.us) << "sixteen times as many pixels";
  EXPECT_GT(decode_us_of(large), 2 * decode_us_of(small));
}

INSTANTIATE_TEST_SUITE_P(Codecs, Clips, testing::Values("h264", "hevc", "mjpeg"));

TEST(Clips, ArePaintedToo) { EXPECT_GT(paint_us_of(frames_of(1280, 768)), 2 * paint_us_of(frames_of(320, 192))); }

TEST(Compared, AreNotWhatIsMeasured) {
  for (const ComparedChain& chain : compared_chains()) {
    for (const FrameFormat& measured : probed_filter_sizes()) EXPECT_NE(chain.in.width, measured.width) << chain.what;
    EXPECT_NO_THROW(chain_work(chain.filters, chain.in, compared_rate)) << chain.what;
  }
  for (const FrameFormat& size : compared_codec_sizes()) {
    for (const FrameFormat& measured : probed_codec_sizes()) EXPECT_NE(size.width, measured.width);
  }
  EXPECT_DOUBLE_EQ((CostComparison{"", 10, 20}).factor(), 2);
  EXPECT_DOUBLE_EQ((CostComparison{"", 20, 10}).factor(), 2);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
