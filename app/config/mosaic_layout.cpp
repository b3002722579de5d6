#include "app/config/mosaic_layout.h"

#include <algorithm>
#include <set>

namespace campipe {
namespace {

constexpr double usual_width = 16;
constexpr double usual_height = 9;

std::string text_of(int width, int height) { return std::to_string(width) + "x" + std::to_string(height); }
std::string text_of(const MosaicGrid& grid) { return text_of(grid.columns, grid.rows); }

int rows_for(int count, int columns) { return (count + columns - 1) / columns; }

// How large a frame of the usual shape is in a cell.
double shown_scale(const MosaicGrid& grid, int width, int height) {
  return std::min(width / (grid.columns * usual_width), height / (grid.rows * usual_height));
}

int even_part(int size, int part, int parts) { return size * part / parts / 2 * 2; }

// Edges are rounded, so that there is no gap between cells, which may differ by two samples.
FrameRegion grid_region(const MosaicGrid& grid, int index, int width, int height) {
  const int column = index % grid.columns, row = index / grid.columns;
  const int x = even_part(width, column, grid.columns), y = even_part(height, row, grid.rows);
  return {x, y, even_part(width, column + 1, grid.columns) - x, even_part(height, row + 1, grid.rows) - y};
}

LaidOutMosaic lay_out_grid(MosaicGrid grid, const std::vector<std::string>& cameras, int width, int height) {
  const int count = static_cast<int>(cameras.size());
  if (grid.columns == 0) grid = auto_grid(std::max(count, 1), width, height);
  const auto mistake = [](std::string message) { return LaidOutMosaic{{}, {{std::nullopt, std::move(message)}}}; };
  if (grid.columns * grid.rows < count) {
    return mistake(text_of(grid) + " is too small for " + std::to_string(count) + " cameras; " +
                   text_of(auto_grid(count, width, height)) + " holds them");
  }
  const int smallest_width = width / grid.columns / 2 * 2, smallest_height = height / grid.rows / 2 * 2;
  if (smallest_width < min_cell_size || smallest_height < min_cell_size) {
    return mistake("cells of " + text_of(grid) + " would be " + text_of(smallest_width, smallest_height) +
                   "; they must be at least " + text_of(min_cell_size, min_cell_size) +
                   ": use fewer cells, or a larger mosaic");
  }
  LaidOutMosaic laid_out;
  for (int i = 0; i < count; ++i)
    laid_out.cells.push_back({cameras[static_cast<std::size_t>(i)], grid_region(grid, i, width, height)});
  return laid_out;
}

std::vector<std::string> mistakes_in(const FrameRegion& region, int width, int height) {
  std::vector<std::string> mistakes;
  const auto is_odd = [](int number) { return number % 2 != 0; };
  if (is_odd(region.x) || is_odd(region.y) || is_odd(region.width) || is_odd(region.height))
    mistakes.emplace_back("x, y, width and height must be even, since four samples of luma share one of chroma");
  if (region.width < min_cell_size || region.height < min_cell_size) {
    mistakes.push_back(text_of(region.width, region.height) + " is too small; a cell is at least " +
                       text_of(min_cell_size, min_cell_size));
  }
  if (region.x < 0 || region.y < 0 || region.width > width - region.x || region.height > height - region.y) {
    mistakes.push_back(text_of(region.width, region.height) + " at " + std::to_string(region.x) + ", " +
                       std::to_string(region.y) + " reaches beyond the mosaic, which is " + text_of(width, height) +
                       "; move it, or make either fit");
  }
  return mistakes;
}

LaidOutMosaic lay_out_list(const std::vector<MosaicCell>& list, int width, int height) {
  LaidOutMosaic laid_out{list, {}};
  std::set<std::string> named;
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (std::string& mistake : mistakes_in(list[i].region, width, height))
      laid_out.mistakes.push_back({i, std::move(mistake)});
    if (!named.insert(list[i].camera).second)
      laid_out.mistakes.push_back({i, "camera '" + list[i].camera + "' has a cell already; remove one"});
  }
  return laid_out;
}

}  // namespace

MosaicGrid auto_grid(int count, int width, int height) {
  MosaicGrid best{1, count};
  for (int columns = 2; columns <= count; ++columns) {
    const MosaicGrid grid{columns, rows_for(count, columns)};
    const double gain = shown_scale(grid, width, height) / shown_scale(best, width, height);
    const bool equal = gain > 1 - 1e-9 && gain < 1 + 1e-9;
    if (equal ? grid.columns * grid.rows <= best.columns * best.rows : gain > 1) best = grid;
  }
  return best;
}

LaidOutMosaic lay_out_mosaic(const MosaicLayout& layout, const std::vector<std::string>& cameras, int width,
                             int height) {
  if (const auto* list = std::get_if<std::vector<MosaicCell>>(&layout)) return lay_out_list(*list, width, height);
  return lay_out_grid(std::get<MosaicGrid>(layout), cameras, width, height);
}

}  // namespace campipe
