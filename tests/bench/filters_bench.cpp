// CPU time of each filter in the registry, and of the chain that is compared with FFmpeg's
// `gblur=sigma=1.5,unsharp=5:5:1.0`, per 1280x720 frame; beside them OpenCV's own functions for the same
// (docs/decisions/0001).
#include <benchmark/benchmark.h>

#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <random>
#include <vector>

#include "stages/filters/chain.h"
#include "tests/unit/filter_cases.h"

namespace campipe {
namespace {

struct Input {
  explicit Input(FrameFormat format) {
    ref.view.format = format;
    std::minstd_rand random(1);
    for (int i = 0; i < plane_count(format.pixels); ++i) {
      const PlaneSize size = plane_size(format, i);
      auto& plane = planes.emplace_back(static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height));
      std::generate(plane.begin(), plane.end(), [&] { return static_cast<std::uint8_t>(random()); });
      ref.view.data[static_cast<std::size_t>(i)] = plane.data();
      ref.view.stride[static_cast<std::size_t>(i)] = size.width;
    }
  }
  std::vector<std::vector<std::uint8_t>> planes;
  FrameRef ref;
};

void run(benchmark::State& state, const std::vector<FilterConfig>& filters, FrameFormat format) {
  const Input input(format);
  FilterChain chain(filters);
  chain.configure(format);
  std::int64_t pts = 0;
  chain.process(input.ref, pts);  // the first frame makes maps
  for (auto _ : state) benchmark::DoNotOptimize(chain.process(input.ref, pts += 40'000'000).view.data[0]);
}

std::vector<cv::Mat> as_mats(const FrameView& view) {
  std::vector<cv::Mat> mats;
  for (int plane = 0; plane < plane_count(view.format.pixels); ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    const PlaneSize size = plane_size(view.format, plane);
    mats.emplace_back(size.height, size.width, CV_8UC1, const_cast<std::uint8_t*>(view.data[at]), view.stride[at]);
  }
  return mats;
}

void opencv_blur(benchmark::State& state, FrameFormat format) {
  const Input input(format);
  const std::vector<cv::Mat> in = as_mats(input.ref.view);
  std::vector<cv::Mat> out(in.size());
  for (auto _ : state) {
    for (std::size_t i = 0; i < in.size(); ++i) cv::GaussianBlur(in[i], out[i], {}, 1.5);
  }
}

void opencv_resize(benchmark::State& state, FrameFormat format) {
  const Input input(format);
  const std::vector<cv::Mat> in = as_mats(input.ref.view);
  std::vector<cv::Mat> out(in.size());
  for (auto _ : state) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      cv::resize(in[i], out[i], {in[i].cols * 2 / 3, in[i].rows * 2 / 3}, 0, 0, cv::INTER_AREA);
    }
  }
}

FrameFormat i420(int width, int height) { return {.pixels = PixelFormat::i420, .width = width, .height = height}; }

void add(const std::string& name, const std::vector<FilterConfig>& filters, const FrameFormat& format) {
  benchmark::RegisterBenchmark(name.c_str(), run, filters, format)->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace campipe

int main(int argc, char** argv) {
  using namespace campipe;
  const FrameFormat hd = i420(1280, 720);
  add("blur 1.5, sharpen 1", {{"blur", {{"sigma", 1.5}}}, {"sharpen", {}}}, hd);
  add("blur 1.5", {{"blur", {{"sigma", 1.5}}}}, hd);
  add("resize 1080p to 720p", {{"resize", {{"width", 1280}, {"height", 720}}}}, i420(1920, 1080));
  cv::setNumThreads(1);
  benchmark::RegisterBenchmark("OpenCV blur 1.5", opencv_blur, hd)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("OpenCV resize 1080p to 720p", opencv_resize, i420(1920, 1080))
      ->Unit(benchmark::kMillisecond);
  for (const FilterInfo& info : filter_registry()) {
    int number = 0;
    for (const FilterParameters& given : filter_cases(info.name, hd))
      add(std::string(info.name) + ", case " + std::to_string(number++), {{std::string(info.name), given}}, hd);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
