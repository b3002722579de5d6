// The GPU's compositor against the CPU's: the same frames, to the bit, tick by tick.
#include "stages/compose/gpu_compositor.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "core/error.h"
#include "stages/compose/compositor.h"
#include "tests/gpu/gpu_pictures.h"

namespace campipe {
namespace {

using test::download;
using test::GpuPicture;
using test::Rows;
using GpuCompositorTest = test::GpuTest;

SharedGpuStream make_stream() { return {make_cuda_stream().release(), CudaStreamTraits::close}; }

// A mosaic on both, fed alike.
class BothMosaics {
 public:
  explicit BothMosaics(const CanvasConfig& config)
      : config_(config), stream_(make_stream()), cpu_(config), gpu_(config, stream_) {
    for (const CanvasCell& cell : config.cells) {
      const FrameFormat format = cell_format(config.format, cell);
      here_.emplace_back(format);
      there_.emplace_back(format, here_.size() % 2 == 0 ? Rows::odd : Rows::aligned);
    }
    views_here_.resize(here_.size());
    views_there_.resize(here_.size());
    contents_here_.resize(here_.size());
    contents_there_.resize(here_.size());
    for (std::size_t i = 0; i < here_.size(); ++i) show(i, 1);
  }

  void show(std::size_t cell, unsigned number, bool other_range = false) {
    cuda_check(cudaStreamSynchronize(stream_.get()), "before its frames change");
    here_[cell] = random_picture(here_[cell].view.format, number * 1000 + static_cast<unsigned>(cell));
    there_[cell].upload(as_const(here_[cell].view));
    views_here_[cell] = as_const(here_[cell].view);
    views_there_[cell] = as_const(there_[cell].view);
    for (FrameView* view : {&views_here_[cell], &views_there_[cell]})
      view->format.color_range = other_range ? (has_full_range(config_.format) ? 1 : 2) : config_.format.color_range;
    contents_here_[cell] = {&views_here_[cell], number};
    contents_there_[cell] = {&views_there_[cell], number};
  }
  void lose(std::size_t cell, std::string_view reason) {
    contents_here_[cell] = contents_there_[cell] = {nullptr, 0, reason, "since 14:03"};
  }

  void expect_same() {
    const FrameRef expected = cpu_.compose(contents_here_);
    const FrameRef got = gpu_.compose(contents_there_);
    cuda_check(cudaStreamSynchronize(stream_.get()), "the mosaic");
    ASSERT_EQ(got.view.format, expected.view.format);
    EXPECT_EQ(got.view.memory, MemoryKind::cuda);
    EXPECT_EQ(download(got.view).planes, download(expected.view).planes);
  }
  FrameRef compose_on_gpu() { return gpu_.compose(contents_there_); }
  [[nodiscard]] std::size_t size() const { return here_.size(); }

 private:
  CanvasConfig config_;
  SharedGpuStream stream_;
  Compositor cpu_;
  GpuCompositor gpu_;
  std::vector<Picture> here_;
  std::deque<GpuPicture> there_;
  std::vector<FrameView> views_here_, views_there_;
  std::vector<CellContent> contents_here_, contents_there_;
};

CanvasConfig grid(int width, int height, int columns, int rows) {
  CanvasConfig config{format_of(PixelFormat::nv12, width, height), {200, 30, 90}, {}, true, label_font()};
  const int across = width / columns / 2 * 2, down = height / rows / 2 * 2;
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x)
      config.cells.push_back(
          {"cell " + std::to_string(x) + ", " + std::to_string(y), {x * across, y * down, across, down}});
  return config;
}

TEST_F(GpuCompositorTest, DrawsWhatTheCpuDraws) {
  ASSERT_NE(label_font(), nullptr) << "install fonts-dejavu-core";
  for (const bool labels : {true, false}) {
    CanvasConfig config = grid(642, 362, 3, 2);
    config.labels = labels;
    BothMosaics mosaics(config);
    std::minstd_rand random(1);
    for (unsigned tick = 2; tick < 30; ++tick) {
      SCOPED_TRACE(tick);
      for (std::size_t cell = 0; cell < mosaics.size(); ++cell) {
        const auto what = random() / 7 % 4;
        if (what == 0) mosaics.show(cell, tick);
        if (what == 1) mosaics.show(cell, tick, true);
        if (what == 2) mosaics.lose(cell, tick % 2 == 0 ? "no answer" : "the source cannot be opened");
      }
      mosaics.expect_same();
    }
  }
}

TEST_F(GpuCompositorTest, DrawsLaterCellsOnTop) {
  CanvasConfig config = grid(320, 240, 2, 2);
  config.cells.push_back({"on all four", {90, 70, 130, 98}});
  config.cells.push_back({"on that", {100, 80, 34, 34}});
  BothMosaics mosaics(config);
  for (unsigned tick = 2; tick < 12; ++tick) {
    mosaics.show(tick % mosaics.size(), tick);
    mosaics.expect_same();
  }
}

TEST_F(GpuCompositorTest, HoldsMoreCellsThanOneKernelTakes) {
  BothMosaics mosaics(grid(1920, 1080, 11, 9));
  mosaics.expect_same();
  for (std::size_t cell = 0; cell < mosaics.size(); cell += 3) mosaics.show(cell, 2);
  mosaics.expect_same();
}

TEST_F(GpuCompositorTest, LeavesFramesThatAreInUseAlone) {
  BothMosaics mosaics(grid(320, 240, 2, 1));
  std::vector<FrameRef> held;
  std::vector<std::vector<std::vector<std::uint8_t>>> shown;
  for (unsigned tick = 2; tick < 9; ++tick) {
    mosaics.show(0, tick);
    held.push_back(mosaics.compose_on_gpu());
    mosaics.show(1, tick);  // waits for the stream
    shown.push_back(download(held.back().view).planes);
  }
  for (std::size_t i = 0; i < held.size(); ++i) EXPECT_EQ(download(held[i].view).planes, shown[i]) << i;
}

}  // namespace
}  // namespace campipe
