// Where the cameras of a mosaic lie in it. Pure functions: the same names, layout and size always give the same cells.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/config/mosaic_config.h"

namespace campipe {

// Cells in rows of equal heights, filled from the top left. No columns: as suits the number of cameras.
struct MosaicGrid {
  int columns = 0;
  int rows = 0;
  friend bool operator==(const MosaicGrid&, const MosaicGrid&) = default;
};

// A list is drawn in its order: where cells overlap, the later one is on top.
using MosaicLayout = std::variant<MosaicGrid, std::vector<MosaicCell>>;

inline constexpr int max_mosaic_cells = 99;
inline constexpr int min_cell_size = 16;  // of both sides, in luma samples

// The grid in which frames of 16:9, each as large as its cell allows, are largest; of those that are equally good, the
// one with the fewest empty cells, and of these the one with the most columns. `count`: from 1.
MosaicGrid auto_grid(int count, int width, int height);

// Something that cannot be laid out, and what to do about it.
struct LayoutMistake {
  std::optional<std::size_t> cell;  // in the list of cells; none: the layout as a whole
  std::string message;
};

struct LaidOutMosaic {
  std::vector<MosaicCell> cells;
  std::vector<LayoutMistake> mistakes;  // not empty: `cells` must not be used
};

// `cameras`: for a grid, in the order in which its cells are filled; a list names its own. `width` and `height`: of the
// mosaic, even.
LaidOutMosaic lay_out_mosaic(const MosaicLayout& layout, const std::vector<std::string>& cameras, int width,
                             int height);

}  // namespace campipe
