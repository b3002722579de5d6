// Every thread moves two bytes at a time, as far as cells and their overlays are aligned. All of a mosaic is written
// once a frame at most, and read once: what bounds it is the launch.
#include <algorithm>
#include <vector>

#include "kernels/compose.h"
#include "kernels/launch.h"
#include "kernels/overlay_rule.h"
#include "kernels/row_walk.cuh"

namespace campipe {
namespace {

constexpr int block = 256;
constexpr int pairs_a_thread = 8;

struct ComposeJob {
  std::uint8_t* luma;
  std::uint8_t* chroma;
  std::int32_t luma_stride;
  std::int32_t chroma_stride;
  const CellOverlays::Entry* entries;
  const std::uint8_t* bytes;
  LevelRules levels;
  ComposedCell cells[most_composed_cells];
};
static_assert(sizeof(ComposeJob) <= 4096, "more than a kernel's parameters hold");

// `x` in bytes, `y` in rows of the plane; both of a pair share what chroma keeps.
__device__ void lay_over(const ComposeJob& job, int overlay, bool is_luma, int x, int y, std::uint8_t (&pair)[2]) {
  const CellOverlays::Entry entry = job.entries[overlay];
  const int top = is_luma ? entry.region.y : entry.region.y / 2;
  const int rows = is_luma ? entry.region.height : entry.region.height / 2;
  x -= entry.region.x;
  y -= top;
  if (x < 0 || x >= entry.region.width || y < 0 || y >= rows) return;
  if (is_luma) {
    const int at = y * entry.region.width + x;
    for (int i = 0; i < 2; ++i)
      pair[i] = overlaid_luma(pair[i], job.bytes[entry.luma_keep + at + i], job.bytes[entry.luma_add + at + i]);
  } else {
    const std::uint8_t keep = job.bytes[entry.chroma_keep + (y * entry.region.width + x) / 2];
    for (std::uint8_t& sample : pair) sample = overlaid_chroma(sample, keep);
  }
}

__global__ void __launch_bounds__(block) compose_kernel(const __grid_constant__ ComposeJob job) {
  const ComposedCell& cell = job.cells[blockIdx.y];
  const int luma_rows = cell.region.height;
  for (RowWalk at(cell.region.width / 2); at.row < luma_rows + luma_rows / 2; at.advance()) {
    const bool is_luma = at.row < luma_rows;
    const int y = is_luma ? at.row : at.row - luma_rows;
    const int x = 2 * at.column;
    const std::uint8_t* const in = is_luma ? cell.luma + std::ptrdiff_t{y} * cell.luma_stride + x
                                           : cell.chroma + std::ptrdiff_t{y} * cell.chroma_stride + x;
    std::uint8_t pair[2] = {in[0], in[1]};
    if (cell.other_range) {
      const LevelRule& rule = is_luma ? job.levels.luma : job.levels.chroma;
      for (std::uint8_t& sample : pair) sample = rule(sample);
    }
    if (cell.overlay >= 0) lay_over(job, cell.overlay, is_luma, x, y, pair);
    std::uint8_t* const out =
        is_luma ? job.luma + std::ptrdiff_t{cell.region.y + y} * job.luma_stride + cell.region.x + x
                : job.chroma + std::ptrdiff_t{cell.region.y / 2 + y} * job.chroma_stride + cell.region.x + x;
    out[0] = pair[0];
    out[1] = pair[1];
  }
}

}  // namespace

CellOverlays::CellOverlays(std::span<const CellOverlay> overlays) {
  std::vector<Entry> entries;
  std::vector<std::uint8_t> bytes;
  const auto append = [&](std::span<const std::uint8_t> part) {
    const auto at = static_cast<std::uint32_t>(bytes.size());
    bytes.insert(bytes.end(), part.begin(), part.end());
    return at;
  };
  for (const CellOverlay& overlay : overlays) {
    entries.push_back(
        {overlay.region, append(overlay.luma_keep), append(overlay.luma_add), append(overlay.chroma_keep)});
  }
  entries_ = DeviceTable(std::span<const Entry>(entries));
  bytes_ = DeviceTable(std::span<const std::uint8_t>(bytes));
}

void enqueue_compose(std::span<const ComposedCell> cells, const CellOverlays& overlays, const LevelRules& levels,
                     const MutableFrameView& out, GpuStream stream) {
  if (cells.empty()) return;
  ComposeJob job{out.data[0],        out.data[1],      out.stride[0], out.stride[1],
                 overlays.entries(), overlays.bytes(), levels,        {}};
  std::ranges::copy(cells, job.cells);
  int most_pairs = 0;
  for (const ComposedCell& cell : cells)
    most_pairs = std::max(most_pairs, cell.region.width / 2 * (cell.region.height + cell.region.height / 2));
  constexpr int pairs_a_block = block * pairs_a_thread;
  const dim3 grid(static_cast<unsigned>((most_pairs + pairs_a_block - 1) / pairs_a_block),
                  static_cast<unsigned>(cells.size()));
  compose_kernel<<<grid, block, 0, stream>>>(job);
  check_launch("cannot compose a frame");
}

}  // namespace campipe
