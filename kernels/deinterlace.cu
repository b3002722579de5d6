#include "kernels/deinterlace.h"

#include "kernels/deinterlace_rule.h"
#include "kernels/launch.h"
#include "kernels/planes.cuh"
#include "kernels/row_walk.cuh"

namespace campipe {
namespace {

constexpr int block = 256;
constexpr int blocks_per_multiprocessor = 8;

struct Job {
  InPlane in[2];
  OutPlane out[2];
  int columns;  // units of a row, as many in both planes: two interleaved chroma samples stand for two luma samples
  // The rows that are made, luma's and below them chroma's.
  int first;
  int chroma_below;  // chroma's row 0, if it was there
  int end;
  int field;
};

template <int components>
__device__ uint2 unit_at(const InPlane& in, const std::uint8_t* row, int x) {
  if (in.units && x >= 0 && x + unit <= in.row_bytes) return load_unit(row + x);
  return gather_unit<components>(row, in.width, x);
}

// A unit and those beside it.
struct Window {
  uint2 left, own, right;

  // `i`: in bytes from the unit's first, -8 to 15; known when it is compiled.
  __device__ int at(int i) const {
    const unsigned word = i < -4 ? left.x : i < 0 ? left.y : i < 4 ? own.x : i < 8 ? own.y : i < 12 ? right.x : right.y;
    return static_cast<int>(word >> 8 * (i & 3) & 255);
  }
};

template <int components>
__device__ Window window_at(const InPlane& in, int x, int y) {
  const std::uint8_t* const row = row_at(in, mirrored(y, in.height));
  return {unit_at<components>(in, row, x - unit), unit_at<components>(in, row, x),
          unit_at<components>(in, row, x + unit)};
}

template <int components>
struct SamplesAt {
  const Window& window;
  int i;
  __device__ int operator()(int k) const { return window.at(i + k * components); }
};

// The unit at `x` of a line that is not kept.
template <int components>
__device__ uint2 make_unit(const InPlane& in, int x, int y) {
  const Window up2 = window_at<components>(in, x, y - 2), up = window_at<components>(in, x, y - 1);
  const Window own = window_at<components>(in, x, y);
  const Window down = window_at<components>(in, x, y + 1), down2 = window_at<components>(in, x, y + 2);
  unsigned combed = 0;  // a bit for each sample, from the one before the unit on
#pragma unroll
  for (int i = -components; i < unit + components; ++i) {
    if (is_combed(up2.at(i), up.at(i), own.at(i), down.at(i), down2.at(i))) combed |= 1U << (i + components);
  }
  if (combed == 0) return own.own;
  std::uint64_t bytes = 0;
#pragma unroll
  for (int i = 0; i < unit; ++i) {
    constexpr unsigned neighbours = 1U | 1U << components | 1U << 2 * components;
    int sample = own.at(i);
    if ((combed >> i & neighbours) != 0)
      sample = edge_directed(SamplesAt<components>{up, i}, SamplesAt<components>{down, i});
    bytes |= static_cast<std::uint64_t>(sample) << 8 * i;
  }
  return {static_cast<unsigned>(bytes), static_cast<unsigned>(bytes >> 32)};
}

template <int components>
__device__ void write_unit(const InPlane& in, const OutPlane& out, int x, int y, int field) {
  if (x >= in.row_bytes) return;
  store_unit(out, x, y, y % 2 == field ? unit_at<components>(in, row_at(in, y), x) : make_unit<components>(in, x, y));
}

__global__ void __launch_bounds__(block) deinterlace_kernel(const __grid_constant__ Job job) {
  RowWalk at(job.columns);
  for (at.row += job.first; at.row < job.end; at.advance()) {
    const int x = at.column * unit;
    if (at.row < job.out[0].rows.end)
      write_unit<1>(job.in[0], job.out[0], x, at.row, job.field);
    else
      write_unit<2>(job.in[1], job.out[1], x, at.row - job.chroma_below, job.field);
  }
}

}  // namespace

void enqueue_deinterlace(const FrameView& in, const MutableFrameView& out, int field, GpuStream stream) {
  Job job{{plane_span(in, 0), plane_span(in, 1)}, {plane_span(out, 0), plane_span(out, 1)}, 0, 0, 0, 0, field};
  job.columns = ceil_divide(job.in[1].row_bytes, unit);
  const RowRange luma = job.out[0].rows, chroma = job.out[1].rows;
  job.first = luma.begin;
  job.chroma_below = luma.end - chroma.begin;
  job.end = luma.end + chroma.count();
  const unsigned grid = blocks_for(std::int64_t{job.columns} * (job.end - job.first), block, blocks_per_multiprocessor);
  deinterlace_kernel<<<grid, block, 0, stream>>>(job);
  check_launch("cannot deinterlace");
}

}  // namespace campipe
