// What work costs, predicted from what was measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "app/calibrate/calibrate.h"
#include "app/costs/codec_work.h"
#include "app/costs/cost_table.h"
#include "app/costs/estimates.h"
#include "app/costs/filter_work.h"
#include "core/error.h"
#include "kernels/motion_rule.h"
#include "stages/encoders/encoder_config.h"
#include "stages/filters/filter.h"
#include "tests/unit/filter_cases.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::IsEmpty;

FrameFormat frames_of(int width, int height) {
  FrameFormat format;
  format.width = width;
  format.height = height;
  return format;
}

// At parameters 1 and 3, at one and two million pixels.
DeviceCosts invented() {
  DeviceCosts costs{{"cpu", "", "", ""}, "2026-11-25T00:00:00Z"};
  WorkCost& blur = costs.at("blur");
  blur.add(3, {2, 900});
  blur.add(1, {2, 500});
  blur.add(1, {1, 300});
  blur.add(3, {1, 500});
  return costs;
}

TEST(Costs, AreLinearBetweenSizesAndParameters) {
  const DeviceCosts costs = invented();
  EXPECT_DOUBLE_EQ(*cost_us(costs, {"blur", 1, 1}), 300);
  EXPECT_DOUBLE_EQ(*cost_us(costs, {"blur", 1.5, 1}), 400);
  EXPECT_DOUBLE_EQ(*cost_us(costs, {"blur", 1.5, 3}), 700);
  EXPECT_DOUBLE_EQ(*cost_us(costs, {"blur", 1.5, 2}), 550);
  EXPECT_DOUBLE_EQ(*cost_us(costs, {"blur", 4, 1}), 900) << "the line goes on";
  EXPECT_DOUBLE_EQ(*cost_us(costs, {"blur", 1, 9}), 500) << "beyond the parameters as at their end";
  EXPECT_DOUBLE_EQ(*cost_us(costs, {"blur", 1, 1, 0.5}), 150) << "of half of the frames";
  EXPECT_FALSE(cost_us(costs, {"sharpen", 1}));
}

TEST(Costs, OfSmallAndLargeFramesStayPositive) {
  DeviceCosts costs = invented();
  costs.at("odd").add(0, {1, 10});
  costs.at("odd").add(0, {2, 100});  // the line would be negative below, and flat work above
  costs.at("flat").add(0, {1, 100});
  costs.at("flat").add(0, {2, 50});
  EXPECT_DOUBLE_EQ(*cost_us(costs, {"odd", 0.1}), 0.5);
  EXPECT_DOUBLE_EQ(*cost_us(costs, {"flat", 8}), 100);
  EXPECT_DOUBLE_EQ(*cost_us(costs, {"flat", 0.1}), 100);
  costs.at("one").add(0, {2, 50});
  EXPECT_DOUBLE_EQ(*cost_us(costs, {"one", 4}), 100) << "of one point in proportion";
}

TEST(Costs, OfAChainAreASumAndMergedFiltersAreDoneAtOnce) {
  DeviceCosts costs = invented();
  for (const char* name : {"color", "crop"}) costs.at(name).merges = true;
  costs.at("color").add(0, {1, 20});
  costs.at("crop").add(0, {1, 5});
  std::vector<std::string> unknown;
  EXPECT_DOUBLE_EQ(chain_us(costs, {{"crop", 1}, {"color", 1}, {"blur", 1, 1}, {"color", 1}}, &unknown), 340);
  EXPECT_THAT(unknown, IsEmpty());
  EXPECT_DOUBLE_EQ(chain_us(costs, {{"crop", 1}, {"magic", 1}}, &unknown), 5);
  EXPECT_THAT(unknown, ElementsAre("magic"));
}

TEST(Costs, OfPointsOfOnePlaceHaveTheLowerOne) {
  DeviceCosts costs = invented();
  costs.at("blur").add(1, {1, 310});
  EXPECT_DOUBLE_EQ(*cost_us(costs, {"blur", 1, 1}), 300);
  costs.at("blur").add(1, {1, 290});
  EXPECT_DOUBLE_EQ(*cost_us(costs, {"blur", 1, 1}), 290);
  EXPECT_EQ(costs.at("blur").curves.size(), 2U);
}

TEST(FilterWork, IsWhatTheTimeDependsOn) {
  const FrameFormat hd = frames_of(1280, 720), small = frames_of(640, 360);
  const double pixels = 1280 * 720 / 1e6;
  EXPECT_DOUBLE_EQ(filter_work({"crop", {}}, hd, small, 25).megapixels, pixels / 4) << "what it copies";
  EXPECT_DOUBLE_EQ(filter_work({"resize", {}}, hd, small, 25).megapixels, pixels);
  EXPECT_DOUBLE_EQ(filter_work({"resize", {}}, hd, small, 25).parameter, 2);
  EXPECT_DOUBLE_EQ(filter_work({"blur", {{"sigma", 2.5}}}, hd, hd, 25).parameter, 2.5);
  const Work denoise = filter_work({"denoise", {{"patch", 7}, {"window", 11}}}, hd, hd, 25);
  EXPECT_EQ(denoise.name, "denoise/7");
  EXPECT_DOUBLE_EQ(denoise.parameter, 121);
  EXPECT_EQ(filter_work({"rotate", {{"angle", 270}}}, hd, hd, 25).name, "rotate/90");
  EXPECT_EQ(filter_work({"rotate", {{"angle", 180}}}, hd, hd, 25).name, "rotate/180");
}

// As stages/filters/motion.cpp leaves out frames: tests/unit/motion_test.cpp has that.
TEST(FilterWork, OfMotionIsThatOfTheFramesThatItLooksAt) {
  const FrameFormat hd = frames_of(1280, 720);
  const auto share = [&](double rate) { return filter_work({"motion", {}}, hd, hd, rate).share; };
  EXPECT_DOUBLE_EQ(share(20), 1);
  EXPECT_DOUBLE_EQ(share(25), 0.5);
  EXPECT_DOUBLE_EQ(share(60), 1.0 / 3);
  EXPECT_DOUBLE_EQ(share(0), share(assumed_rate));
}

TEST(FilterWork, OfAChainFollowsTheFormats) {
  FrameFormat out;
  const auto work =
      chain_work({{"resize", {{"width", 640}, {"height", 360}}}, {"sharpen", {}}}, frames_of(1920, 1080), 25, &out);
  ASSERT_EQ(work.size(), 2U);
  EXPECT_DOUBLE_EQ(work[1].megapixels, 640 * 360 / 1e6);
  EXPECT_EQ(out.width, 640);
  const FilterConfig outside{"crop", {{"x", 600}, {"y", 0}, {"width", 100}, {"height", 100}}};
  EXPECT_THROW(chain_work({outside}, frames_of(640, 360), 25), Error);
}

// A filter that is added is measured, and predicted, without being named here.
TEST(FilterWork, IsProbedForEveryFilter) {
  for (const FilterInfo& info : filter_registry()) {
    SCOPED_TRACE(info.name);
    for (const FrameFormat& in : probed_filter_sizes()) {
      const auto probes = probed_parameters(info, in);
      ASSERT_FALSE(probes.empty());
      for (const FilterParameters& parameters : probes) {
        EXPECT_NO_THROW(chain_work({{std::string(info.name), parameters}}, in, 25));
      }
    }
  }
}

// An invented time, by what a filter does: what is predicted between the measured sizes and parameters is near it.
double invented_time(const FilterConfig& filter, const FrameFormat& in) {
  FrameFormat out;
  const Work work = chain_work({filter}, in, compared_rate, &out).front();
  return 5 + work.megapixels * (100 + 10 * work.parameter);
}

TEST(FilterWork, IsPredictedForEveryFilterFromWhatIsMeasured) {
  DeviceCosts costs{{"cpu", "", "", ""}, "now"};
  measure_filters(
      costs, [](const std::string&) {}, invented_time);
  for (const FilterInfo& info : filter_registry()) {
    for (const FrameFormat& in : {frames_of(1024, 576), frames_of(1600, 900), frames_of(3200, 1800)}) {
      for (const FilterParameters& given : filter_cases(info.name, in)) {
        const FilterConfig config{std::string(info.name), complete_parameters(info, given)};
        SCOPED_TRACE(testing::Message() << info.name << " of " << in.width << testing::PrintToString(given));
        std::vector<std::string> unknown;
        const double predicted = chain_us(costs, chain_work({config}, in, compared_rate), &unknown);
        EXPECT_THAT(unknown, IsEmpty());
        const double parameter = chain_work({config}, in, compared_rate).front().parameter;
        if (info.name == "resize" && (parameter < 0.5 || parameter > 6)) continue;
        if (info.name == "fit" && (parameter < 0.5 || parameter > 6)) continue;
        EXPECT_NEAR(predicted / invented_time(config, in), 1, 0.05);
      }
    }
  }
}

// One that takes long is not timed for even larger frames, but predicted.
TEST(FilterWork, IsNotMeasuredForever) {
  DeviceCosts costs{{"cpu", "", "", ""}, "now"};
  int calls = 0;
  measure_filters(
      costs, [](const std::string&) {},
      [&](const FilterConfig& filter, const FrameFormat& in) {
        if (filter.name != "sharpen") return 1.0;
        ++calls;
        return 101'000.0 * in.width / 640;
      });
  EXPECT_EQ(calls, 2 * 3) << "twice of 640, of 848 and, with 150 ms, of 960, and of no larger ones";
  EXPECT_GT(*cost_us(costs, {"sharpen", 8}), 200'000);
}

TEST(Estimates, AreThereForAllThatIsMeasured) {
  const DeviceCosts cpu = estimated_cpu_costs({"cpu", "", "", ""}), gpu = estimated_gpu_costs({"GPU", "", "", ""});
  EXPECT_TRUE(cpu.estimated() && gpu.estimated());
  const FrameFormat in = frames_of(1920, 1080);
  for (const FilterInfo& info : filter_registry()) {
    for (const FilterParameters& parameters : probed_parameters(info, in)) {
      const auto work = chain_work({{std::string(info.name), parameters}}, in, 25);
      EXPECT_GT(chain_us(cpu, work), 0) << info.name;
      EXPECT_GT(chain_us(gpu, work), 0) << info.name;
    }
  }
  for (const char* codec : {"h264", "hevc", "mjpeg", "pattern", "av1", "unheard of"})
    EXPECT_TRUE(cost_us(cpu, decode_work(codec, in))) << codec;
  for (const char* encoder : {"libx264", "libx265", "mjpeg"})
    EXPECT_TRUE(cost_us(cpu, encode_work(encoder, {}, in, 25))) << encoder;
  for (const Work& work : {copy_work(in), upload_work(in), download_work(in)}) EXPECT_TRUE(cost_us(gpu, work));
}

TEST(CodecWork, OfAnEncoderDependsOnItsBits) {
  const FrameFormat size = frames_of(1000, 1000);
  EncoderConfig config;
  EXPECT_DOUBLE_EQ(encode_work("libx264", config, size, 25).parameter, 4e6 / 25e6) << "4 Mb/s, if nothing is said";
  config.bitrate = 1'000'000;
  EXPECT_DOUBLE_EQ(encode_work("libx264", config, size, 50).parameter, 1e6 / 50e6);
  EXPECT_DOUBLE_EQ(encode_work("libx264", config, size, 0).parameter, 1e6 / 25e6);
  config.bitrate.reset();
  config.crf = 23;
  EXPECT_DOUBLE_EQ(encode_work("libx264", config, size, 25).parameter, usual_bits_a_pixel);
}

TEST(CodecWork, GrowsWithThePreset) {
  double before = 0;
  for (const char* preset : {"ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower"}) {
    EXPECT_GT(preset_factor("libx264", preset), before) << preset;
    before = preset_factor("libx264", preset);
  }
  EXPECT_EQ(preset_factor("libx264", "auto"), 1);
  EXPECT_EQ(preset_factor("mjpeg", "slow"), 1);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
