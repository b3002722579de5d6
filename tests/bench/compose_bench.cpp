// CPU time of a frame of a mosaic of 1920x1080: scaling the cameras' frames of 1280x720 to their cells (the filter
// `fit`, which runs where each camera runs), and putting the cells together.
#include <benchmark/benchmark.h>

#include <deque>
#include <string>
#include <vector>

#include "app/config/mosaic_layout.h"
#include "core/frame_memory.h"
#include "stages/compose/compositor.h"
#include "stages/filters/chain.h"

namespace campipe {
namespace {

FrameFormat i420(int width, int height) { return {.pixels = PixelFormat::i420, .width = width, .height = height}; }

struct Mosaic {
  explicit Mosaic(int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back("camera " + std::to_string(i));
    config.format = i420(1920, 1080);
    config.font = label_font();
    for (const MosaicCell& cell : lay_out_mosaic(MosaicGrid{}, names, 1920, 1080).cells) {
      config.cells.push_back({cell.camera, cell.region});
      const FrameLayout layout{i420(cell.region.width, cell.region.height)};
      leases.push_back(std::make_shared<FramePool>(layout, host_frame_bytes)->take());
    }
    for (const FramePool::Lease& lease : leases) frames.push_back(as_const(lease.view));
    for (const FrameView& frame : frames) contents.push_back({&frame});
  }

  CanvasConfig config;
  std::vector<FramePool::Lease> leases;
  std::vector<FrameView> frames;
  std::vector<CellContent> contents;
};

// `every`: one of so many cells has a new frame each time.
void compose(benchmark::State& state, int count, std::uint64_t every, std::uint8_t range) {
  Mosaic mosaic(count);
  for (FrameView& frame : mosaic.frames) frame.format.color_range = range;
  Compositor compositor(mosaic.config);
  std::uint64_t tick = 0;
  for (auto _ : state) {
    ++tick;
    for (std::size_t i = 0; i < mosaic.contents.size(); ++i)
      if ((i + tick) % every == 0) mosaic.contents[i].number = tick;
    benchmark::DoNotOptimize(compositor.compose(mosaic.contents).view.data[0]);
  }
}

void fit(benchmark::State& state, int count) {
  const Mosaic mosaic(count);
  const FramePool::Lease in = std::make_shared<FramePool>(FrameLayout{i420(1280, 720)}, host_frame_bytes)->take();
  std::deque<FilterChain> chains;  // which cannot be moved
  for (const CanvasCell& cell : mosaic.config.cells) {
    const FilterParameters size{{"width", cell.region.width}, {"height", cell.region.height}};
    chains.emplace_back(std::vector<FilterConfig>{{"fit", size}}).configure(in.view.format);
  }
  std::int64_t pts = 0;
  for (auto _ : state) {
    pts += 40'000'000;
    for (FilterChain& chain : chains)
      benchmark::DoNotOptimize(chain.process({as_const(in.view), nullptr}, pts).view.data[0]);
  }
}

template <typename... Arguments>
void add(const std::string& name, Arguments... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), arguments...)->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace campipe

int main(int argc, char** argv) {
  using namespace campipe;
  constexpr std::uint8_t limited = 1, full = 2;
  for (const int count : {16, 99}) {
    const std::string cells = std::to_string(count) + " cells, ";
    add(cells + "fit", fit, count);
    add(cells + "all new", compose, count, 1, limited);
    add(cells + "one in five new", compose, count, 5, limited);
    add(cells + "all new, of full range", compose, count, 1, full);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
