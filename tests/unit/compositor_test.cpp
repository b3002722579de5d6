// What a mosaic shows on the CPU: each cell's newest frame or why there is none, and nothing drawn twice.
#include "stages/compose/compositor.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "tests/unit/allocation_count.h"
#include "tests/unit/filter_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

constexpr std::array both{PixelFormat::i420, PixelFormat::nv12};

// Of any frame: plane 0, or component 1 or 2 of chroma.
int sample(const FrameView& view, int component, int x, int y) {
  if (component == 0) return view.data[0][y * view.stride[0] + x];
  if (view.format.pixels == PixelFormat::nv12) return view.data[1][y * view.stride[1] + 2 * x + component - 1];
  const auto plane = static_cast<std::size_t>(component);
  return view.data[plane][y * view.stride[plane] + x];
}

// Every sample of `region` in `canvas` is as `expected(component, x, y)` says of the region's samples; returns how many
// are not.
template <typename Expected>
int differences(const FrameView& canvas, const FrameRegion& region, const Expected& expected) {
  int different = 0;
  for (int component = 0; component < 3; ++component) {
    const int by = component == 0 ? 1 : 2;
    for (int y = 0; y < region.height / by; ++y)
      for (int x = 0; x < region.width / by; ++x)
        different += sample(canvas, component, region.x / by + x, region.y / by + y) != expected(component, x, y);
  }
  return different;
}

int differences(const FrameView& canvas, const FrameRegion& region, const Picture& frame) {
  const FrameView view = as_const(frame.view);
  return differences(canvas, region, [&](int component, int x, int y) { return sample(view, component, x, y); });
}

int differences(const FrameView& canvas, const FrameRegion& region, const YuvColour& colour) {
  return differences(canvas, region, [&](int component, int, int) {
    return component == 0 ? colour.y : component == 1 ? colour.u : colour.v;
  });
}

// Two cells side by side, and one below them that lies on both.
const std::vector<CanvasCell> three_cells{
    {"left", {0, 0, 64, 48}}, {"right", {64, 0, 66, 48}}, {"top", {40, 30, 48, 32}}};

CanvasConfig config_of(PixelFormat pixels, std::vector<CanvasCell> cells = three_cells) {
  return {format_of(pixels, 140, 80), {200, 30, 90}, std::move(cells), false, nullptr};
}

// A mosaic, and a frame for each of its cells.
struct Mosaic {
  explicit Mosaic(const CanvasConfig& config, PixelFormat of_frames = PixelFormat::i420)
      : cells(config.cells), compositor(config), contents(config.cells.size()) {
    unsigned seed = 0;
    for (const CanvasCell& cell : config.cells) {
      FrameFormat format = cell_format(config.format, cell);
      format.pixels = of_frames;
      pictures.push_back(random_picture(format, ++seed));
    }
    views.resize(pictures.size());
    for (std::size_t i = 0; i < pictures.size(); ++i) show(i, 1);
  }

  void show(std::size_t cell, std::uint64_t number) {
    views[cell] = as_const(pictures[cell].view);
    contents[cell] = {&views[cell], number};
  }
  void replace(std::size_t cell, unsigned seed) { pictures[cell] = random_picture(pictures[cell].view.format, seed); }
  void lose(std::size_t cell, std::string_view reason) { contents[cell] = {nullptr, 0, reason, "since 14:03"}; }
  FrameRef compose() { return compositor.compose(contents); }
  int wrong(const FrameRef& canvas, std::size_t cell) {
    return differences(canvas.view, cells[cell].region, pictures[cell]);
  }

  std::vector<CanvasCell> cells;
  Compositor compositor;
  std::vector<Picture> pictures;
  std::vector<FrameView> views;
  std::vector<CellContent> contents;
};

TEST(Compositor, PutsFramesOfAnyFormatIntoTheirCells) {
  for (const PixelFormat canvas_pixels : both) {
    for (const PixelFormat cell_pixels : both) {
      const CanvasConfig config = config_of(canvas_pixels, {three_cells[0], three_cells[1]});
      Mosaic mosaic(config, cell_pixels);
      const FrameRef canvas = mosaic.compose();
      EXPECT_EQ(canvas.view.format, config.format);
      EXPECT_EQ(mosaic.wrong(canvas, 0), 0);
      EXPECT_EQ(mosaic.wrong(canvas, 1), 0);
      const YuvColour background = yuv_colour(config.background, config.format);
      EXPECT_EQ(differences(canvas.view, {130, 0, 10, 80}, background), 0);
      EXPECT_EQ(differences(canvas.view, {0, 48, 130, 32}, background), 0);
    }
  }
}

TEST(Compositor, RefusesCellsThatAreNotWithinThePicture) {
  for (const FrameRegion region : {FrameRegion{128, 0, 64, 48}, {0, 64, 64, 48}, {-2, 0, 64, 48}, {0, 0, 0, 48}}) {
    EXPECT_THROW(Compositor(config_of(PixelFormat::i420, {{"beside", region}})), Error) << region.x << "," << region.y;
  }
}

TEST(Compositor, DrawsLaterCellsOnTop) {
  Mosaic mosaic(config_of(PixelFormat::nv12));
  for (std::uint64_t number = 2; number < 6; ++number) {
    EXPECT_EQ(mosaic.wrong(mosaic.compose(), 2), 0);
    mosaic.replace(0, static_cast<unsigned>(number) + 20);  // the lower cell alone
    mosaic.show(0, number);
  }
  EXPECT_GT(mosaic.wrong(mosaic.compose(), 0), 0) << "a part of it is covered";
}

TEST(Compositor, CopiesWhatIsNewAndNothingElse) {
  Mosaic mosaic(config_of(PixelFormat::i420, {three_cells[0], three_cells[1]}));
  const std::uint8_t* const first = mosaic.compose().view.data[0];
  mosaic.replace(0, 31);
  mosaic.replace(1, 32);
  mosaic.show(0, 1);  // the same number: what lies there is not looked at
  mosaic.show(1, 2);
  const FrameRef held = mosaic.compose();
  ASSERT_EQ(held.view.data[0], first) << "the pool's frame came back, and was to be used again";
  EXPECT_GT(mosaic.wrong(held, 0), 0);
  EXPECT_EQ(mosaic.wrong(held, 1), 0);

  const FrameRef other = mosaic.compose();
  ASSERT_NE(other.view.data[0], first);
  EXPECT_EQ(mosaic.wrong(other, 0), 0) << "another frame of the pool gets all";
  EXPECT_EQ(mosaic.wrong(other, 1), 0);
}

TEST(Compositor, LeavesFramesThatAreInUseAlone) {
  Mosaic mosaic(config_of(PixelFormat::nv12, {three_cells[0]}));
  std::vector<FrameRef> held;
  std::vector<Picture> shown;
  for (unsigned i = 0; i < 6; ++i) {
    mosaic.replace(0, 50 + i);
    mosaic.show(0, 50 + i);
    held.push_back(mosaic.compose());
    shown.push_back(random_picture(mosaic.pictures[0].view.format, 50 + i));
  }
  for (std::size_t i = 0; i < held.size(); ++i)
    EXPECT_EQ(differences(held[i].view, three_cells[0].region, shown[i]), 0) << i;
}

TEST(Compositor, ShowsACardWhileThereAreNoFrames) {
  CanvasConfig config = config_of(PixelFormat::nv12, {{"dock", {0, 0, 140, 80}}});
  config.font = label_font();
  ASSERT_NE(config.font, nullptr);
  Mosaic mosaic(config);
  const auto light = [&](const FrameRef& canvas) {
    int count = 0;
    for (int y = 0; y < 80; ++y)
      for (int x = 0; x < 140; ++x) count += sample(canvas.view, 0, x, y) > 120;
    return count;
  };
  const auto is_card = [&](const FrameRef& canvas) {
    return differences(canvas.view, {2, 2, 136, 10}, yuv_colour({38, 38, 38}, config.format)) == 0;
  };
  mosaic.lose(0, "");
  const int with_name = light(mosaic.compose());
  EXPECT_TRUE(is_card(mosaic.compose()));
  EXPECT_GT(with_name, 0);
  mosaic.lose(0, "no answer");
  EXPECT_GT(light(mosaic.compose()), with_name);
  mosaic.show(0, 7);
  EXPECT_FALSE(is_card(mosaic.compose()));
  EXPECT_EQ(mosaic.wrong(mosaic.compose(), 0), 0);
  mosaic.lose(0, "no answer");
  EXPECT_TRUE(is_card(mosaic.compose()));
}

TEST(Compositor, WritesNamesOnFrames) {
  CanvasConfig config = config_of(PixelFormat::nv12, {{"dock", {0, 0, 140, 80}}});
  config.font = label_font();
  ASSERT_NE(config.font, nullptr);
  config.labels = true;
  const Label label = make_label(*config.font, "dock", config.format);
  ASSERT_GT(label.region.width, 0);
  Mosaic mosaic(config);
  for (std::uint64_t number = 1; number < 4; ++number) {
    mosaic.show(0, number);
    const FrameRef canvas = mosaic.compose();
    draw_label(label, mosaic.pictures[0].view);
    EXPECT_EQ(mosaic.wrong(canvas, 0), 0);
    mosaic.replace(0, static_cast<unsigned>(number) + 9);
  }
  config.labels = false;
  Mosaic plain(config);
  EXPECT_EQ(plain.wrong(plain.compose(), 0), 0);
}

TEST(Compositor, BringsFramesToTheMosaicsRange) {
  constexpr std::uint8_t limited = 1, full = 2;
  for (const PixelFormat pixels : both) {
    for (const std::uint8_t to : {limited, full}) {
      CanvasConfig config = config_of(pixels, {three_cells[0]});
      config.format.color_range = to;
      Mosaic mosaic(config);
      mosaic.pictures[0].view.format.color_range = to == full ? limited : full;
      mosaic.show(0, 2);
      const FrameView in = as_const(mosaic.pictures[0].view);
      const auto expected = [&](int component, int x, int y) {
        const double level = sample(in, component, x, y), steps = component == 0 ? 219 : 224;
        const double middle = component == 0 ? 16 : 128, middle_of_full = component == 0 ? 0 : 128;
        const double value = to == full ? middle_of_full + (level - middle) * 255 / steps
                                        : middle + (level - middle_of_full) * steps / 255;
        return static_cast<int>(std::clamp(std::lround(value), 0L, 255L));
      };
      EXPECT_EQ(differences(mosaic.compose().view, three_cells[0].region, expected), 0);
    }
  }
}

TEST(Compositor, RefusesFramesOfAnotherSize) {
  Mosaic mosaic(config_of(PixelFormat::nv12));
  mosaic.pictures[1] = random_picture(format_of(PixelFormat::nv12, 64, 48));
  mosaic.show(1, 2);
  try {
    mosaic.compose();
    FAIL() << "it was drawn";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a frame of 64x48 for the cell 'right', which is 66x48");
  }
}

TEST(Compositor, AllocatesNothingForAFrame) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer owns malloc";
  CanvasConfig config{format_of(PixelFormat::i420, 640, 480), {}, {}, true, label_font()};
  for (int i = 0; i < 99; ++i) config.cells.push_back({"cam", {i % 10 * 64, i / 10 * 48, 64, 48}});
  Mosaic mosaic(config);
  for (std::size_t i = 90; i < 99; ++i) mosaic.lose(i, "no answer, and a text that is longer than a small string");
  mosaic.compose();
  mosaic.compose();
  std::uint64_t number = 10;
  EXPECT_EQ(allocations_of([&] {
              for (std::size_t i = 0; i < 90; ++i) mosaic.contents[i].number = number;
              mosaic.compose();
            }),
            0);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
