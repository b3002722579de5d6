#include "kernels/fill.h"
#include "kernels/launch.h"
#include "kernels/row_walk.cuh"

namespace campipe {
namespace {

constexpr int block = 256;
constexpr int blocks_per_multiprocessor = 8;

// Of one plane, in bytes and rows.
struct Hole {
  int left;
  int top;
  int right;
  int bottom;
};

struct FillJob {
  std::uint8_t* plane[2];
  std::ptrdiff_t stride[2];
  int row_bytes[2];
  Hole hole[2];
  int first_row[2];
  int luma_rows;  // that are filled
  int rows;       // the same of both planes
  YuvColour colour;
};

// Two bytes a step; the last of an odd row is one. Holes begin and end at even bytes.
__global__ void __launch_bounds__(block) fill_around_kernel(const __grid_constant__ FillJob job) {
  for (RowWalk at((job.row_bytes[1] + 1) / 2); at.row < job.rows; at.advance()) {
    const int p = at.row >= job.luma_rows ? 1 : 0;
    const int y = job.first_row[p] + at.row - (p == 0 ? 0 : job.luma_rows);
    const int x = 2 * at.column;
    const Hole hole = job.hole[p];
    if (x >= hole.left && x < hole.right && y >= hole.top && y < hole.bottom) continue;
    std::uint8_t* const out = job.plane[p] + y * job.stride[p] + x;
    if (x < job.row_bytes[p]) out[0] = p == 0 ? job.colour.y : job.colour.u;
    if (x + 1 < job.row_bytes[p]) out[1] = p == 0 ? job.colour.y : job.colour.v;
  }
}

}  // namespace

void enqueue_fill_around(const MutableFrameView& out, const FrameRegion& inner, const YuvColour& colour,
                         GpuStream stream) {
  const PlaneSize luma = plane_size(out.format, 0), chroma = plane_size(out.format, 1);
  const RowRange luma_rows = plane_rows(out, 0), chroma_rows = plane_rows(out, 1);
  const int right = inner.x + inner.width, bottom = inner.y + inner.height;
  const FillJob job{{out.data[0], out.data[1]},
                    {out.stride[0], out.stride[1]},
                    {luma.width, chroma.width},
                    {{inner.x, inner.y, right, bottom}, {inner.x, inner.y / 2, right, bottom / 2}},
                    {luma_rows.begin, chroma_rows.begin},
                    luma_rows.count(),
                    luma_rows.count() + chroma_rows.count(),
                    colour};
  const std::int64_t pairs = std::int64_t{(chroma.width + 1) / 2} * job.rows;
  fill_around_kernel<<<blocks_for(pairs, block, blocks_per_multiprocessor), block, 0, stream>>>(job);
  check_launch("cannot fill a frame");
}

}  // namespace campipe
