// Every number of cameras in every kind of layout: cells that cover what they should, and mistakes with a remedy.
#include "app/config/mosaic_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> cameras(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("cam" + std::to_string(i));
  return names;
}

std::vector<std::string> mistakes_of(const LaidOutMosaic& laid_out) {
  std::vector<std::string> messages;
  for (const LayoutMistake& mistake : laid_out.mistakes) messages.push_back(mistake.message);
  return messages;
}

TEST(AutoGrid, IsWhatPeopleExpect) {
  const auto in_hd = [](int count) { return auto_grid(count, 1920, 1080); };
  EXPECT_EQ(in_hd(1), (MosaicGrid{1, 1}));
  EXPECT_EQ(in_hd(2), (MosaicGrid{2, 1}));
  EXPECT_EQ(in_hd(3), (MosaicGrid{2, 2}));
  EXPECT_EQ(in_hd(4), (MosaicGrid{2, 2}));
  EXPECT_EQ(in_hd(5), (MosaicGrid{3, 2}));
  EXPECT_EQ(in_hd(6), (MosaicGrid{3, 2}));
  EXPECT_EQ(in_hd(7), (MosaicGrid{3, 3}));
  EXPECT_EQ(in_hd(9), (MosaicGrid{3, 3}));
  EXPECT_EQ(in_hd(12), (MosaicGrid{4, 3}));
  EXPECT_EQ(in_hd(16), (MosaicGrid{4, 4}));
  EXPECT_EQ(in_hd(99), (MosaicGrid{10, 10}));
  EXPECT_EQ(auto_grid(3, 640, 1080), (MosaicGrid{1, 3})) << "an upright mosaic";
  EXPECT_EQ(auto_grid(4, 2560, 360), (MosaicGrid{4, 1})) << "a strip";
  EXPECT_EQ(auto_grid(6, 1024, 768), (MosaicGrid{2, 3})) << "frames of 16:9 in a mosaic of 4:3";
}

TEST(AutoGrid, ShowsFramesAtLeastAsLargeAsAnyOther) {
  for (const auto [width, height] : {std::array{1920, 1080}, {1024, 768}, {1080, 1920}, {3840, 1080}}) {
    const auto shown = [&](int columns, int rows) { return std::min(width / (16.0 * columns), height / (9.0 * rows)); };
    for (int count = 1; count <= max_mosaic_cells; ++count) {
      const MosaicGrid grid = auto_grid(count, width, height);
      ASSERT_GE(grid.columns * grid.rows, count);
      for (int columns = 1; columns <= count; ++columns) {
        const int rows = (count + columns - 1) / columns;
        ASSERT_GE(shown(grid.columns, grid.rows), shown(columns, rows) * (1 - 1e-9)) << count << " in " << width;
      }
    }
  }
}

TEST(GridLayout, CoversTheMosaicWithoutGapOrOverlap) {
  for (const auto [width, height] : {std::array{1920, 1080}, {1918, 1078}, {1280, 720}, {322, 246}}) {
    for (int count = 1; count <= max_mosaic_cells; ++count) {
      const LaidOutMosaic laid_out = lay_out_mosaic(MosaicGrid{}, cameras(count), width, height);
      ASSERT_THAT(mistakes_of(laid_out), IsEmpty());
      ASSERT_EQ(laid_out.cells.size(), static_cast<std::size_t>(count));
      const MosaicGrid grid = auto_grid(count, width, height);
      for (std::size_t i = 0; i < laid_out.cells.size(); ++i) {
        const auto& [camera, region] = laid_out.cells[i];
        EXPECT_EQ(camera, "cam" + std::to_string(i));
        ASSERT_EQ((region.x | region.y | region.width | region.height) % 2, 0);
        ASSERT_GE(region.width, min_cell_size);
        ASSERT_NEAR(region.width, static_cast<double>(width) / grid.columns, 2);
        ASSERT_NEAR(region.height, static_cast<double>(height) / grid.rows, 2);
        const int column = static_cast<int>(i) % grid.columns, row = static_cast<int>(i) / grid.columns;
        const FrameRegion left = column == 0 ? FrameRegion{} : laid_out.cells[i - 1].region;
        const auto above_index = i - static_cast<std::size_t>(row == 0 ? 0 : grid.columns);
        const FrameRegion above = row == 0 ? FrameRegion{} : laid_out.cells[above_index].region;
        ASSERT_EQ(region.x, left.x + left.width);
        ASSERT_EQ(region.y, above.y + above.height);
        ASSERT_TRUE(column + 1 < grid.columns || region.x + region.width == width);
        ASSERT_TRUE(row + 1 < grid.rows || region.y + region.height == height);
      }
    }
  }
}

TEST(GridLayout, TakesTheGridThatIsGiven) {
  const LaidOutMosaic laid_out = lay_out_mosaic(MosaicGrid{1, 3}, cameras(2), 640, 480);
  EXPECT_THAT(laid_out.cells,
              ElementsAre(MosaicCell{"cam0", {0, 0, 640, 160}}, MosaicCell{"cam1", {0, 160, 640, 160}}));
}

TEST(GridLayout, ReportsWhatDoesNotFit) {
  EXPECT_THAT(mistakes_of(lay_out_mosaic(MosaicGrid{2, 2}, cameras(5), 1920, 1080)),
              ElementsAre("2x2 is too small for 5 cameras; 3x2 holds them"));
  EXPECT_THAT(mistakes_of(lay_out_mosaic(MosaicGrid{}, cameras(99), 320, 120)),
              ElementsAre("cells of 13x8 would be 24x14; they must be at least 16x16: use fewer cells, or a larger "
                          "mosaic"));
}

TEST(ListLayout, IsTakenAsItIs) {
  const std::vector<MosaicCell> list{{"a", {0, 0, 1280, 720}}, {"b", {960, 540, 320, 180}}};  // one on the other
  EXPECT_EQ(lay_out_mosaic(list, {}, 1280, 720).cells, list);
  EXPECT_THAT(mistakes_of(lay_out_mosaic(list, {}, 1280, 720)), IsEmpty());
}

TEST(ListLayout, ReportsEachMistakeWithItsCell) {
  const std::vector<MosaicCell> list{{"good", {0, 0, 640, 360}},         {"odd", {1, 0, 640, 360}},
                                     {"small", {0, 0, 14, 360}},         {"right", {1000, 0, 640, 360}},
                                     {"below", {0, 2000000000, 64, 64}}, {"left", {-2, 0, 64, 64}},
                                     {"good", {0, 360, 640, 360}}};
  const LaidOutMosaic laid_out = lay_out_mosaic(list, {}, 1280, 720);
  EXPECT_THAT(
      mistakes_of(laid_out),
      ElementsAre("x, y, width and height must be even, since four samples of luma share one of chroma",
                  "14x360 is too small; a cell is at least 16x16",
                  "640x360 at 1000, 0 reaches beyond the mosaic, which is 1280x720; move it, or make either fit",
                  "64x64 at 0, 2000000000 reaches beyond the mosaic, which is 1280x720; move it, or make "
                  "either fit",
                  "64x64 at -2, 0 reaches beyond the mosaic, which is 1280x720; move it, or make either fit",
                  "camera 'good' has a cell already; remove one"));
  for (std::size_t i = 0; i < laid_out.mistakes.size(); ++i) EXPECT_EQ(laid_out.mistakes[i].cell, i + 1);
}

TEST(ListLayout, ReportsAllMistakesOfACellAtOnce) {
  const std::vector<MosaicCell> list{{"a", {0, 0, 64, 64}}, {"a", {1275, 0, 13, 64}}};
  EXPECT_THAT(mistakes_of(lay_out_mosaic(list, {}, 1280, 720)),
              ElementsAre("x, y, width and height must be even, since four samples of luma share one of chroma",
                          "13x64 is too small; a cell is at least 16x16",
                          "13x64 at 1275, 0 reaches beyond the mosaic, which is 1280x720; move it, or make either fit",
                          "camera 'a' has a cell already; remove one"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
