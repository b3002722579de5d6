#include "kernels/resize_far.h"

#include "kernels/tiles.cuh"

namespace campipe {
namespace {

constexpr int warps = 4;

struct AxisJob {
  const int* first;
  const std::int16_t* weights;
  int taps;
};

struct FarJob {
  InPlane in;
  OutPlane out;
  AxisJob across;
  AxisJob down;
};

// Output and weights begin with the first row that is made, and the output's height is how many are.
struct FarJobs {
  FarJob planes[2];
};

// A warp: 8 columns by 4 rows of the input at a time.
template <int components>
__device__ void make_position(const FarJob& job, int x, int y) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  float sums[components]{};
  for (int j = lane / 8; j < job.down.taps; j += 4) {
    const int in_y = min(job.down.first[y] + j, job.in.height - 1);
    const std::uint8_t* const row = job.in.data + static_cast<std::ptrdiff_t>(in_y) * job.in.stride;
    int row_sums[components]{};
    for (int i = lane % 8; i < job.across.taps; i += 8) {
      const std::uint8_t* const at = row + min(job.across.first[x] + i, job.in.width - 1) * components;
      const int weight = job.across.weights[x * job.across.taps + i];
      for (int c = 0; c < components; ++c) row_sums[c] += weight * at[c];
    }
    const float weight = job.down.weights[y * job.down.taps + j];
    for (int c = 0; c < components; ++c) sums[c] += weight * static_cast<float>(row_sums[c]);
  }
  for (int c = 0; c < components; ++c) {
    for (int distance = 16; distance > 0; distance /= 2) sums[c] += __shfl_xor_sync(0xffffffff, sums[c], distance);
    if (lane != 0) continue;
    const float sample = sums[c] * (1.0F / (1 << 28)) + 0.5F;
    job.out.data[static_cast<std::ptrdiff_t>(y) * job.out.stride + x * components + c] =
        static_cast<std::uint8_t>(sample);
  }
}

__global__ void __launch_bounds__(32 * warps) far_kernel(const __grid_constant__ FarJobs jobs) {
  const int luma = jobs.planes[0].out.width * jobs.planes[0].out.height;
  const int all = luma + jobs.planes[1].out.width * jobs.planes[1].out.height;
  const int warp = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  for (int i = warp; i < all; i += static_cast<int>(gridDim.x) * warps) {
    if (i < luma)
      make_position<1>(jobs.planes[0], i % jobs.planes[0].out.width, i / jobs.planes[0].out.width);
    else
      make_position<2>(jobs.planes[1], (i - luma) % jobs.planes[1].out.width, (i - luma) / jobs.planes[1].out.width);
  }
}

AxisJob job_of(const AxisTables& axis) { return {axis.first.as<int>(), axis.weights.as<std::int16_t>(), axis.taps}; }

}  // namespace

FarTables::FarTables(const std::array<PlaneWeights, 2>& of)
    : planes{std::array{AxisTables(of[0].across), AxisTables(of[0].down)},
             std::array{AxisTables(of[1].across), AxisTables(of[1].down)}} {}

void enqueue_resize_far(const FrameView& in, const MutableFrameView& out, const FarTables& tables, GpuStream stream) {
  FarJobs jobs{};
  std::int64_t positions = 0;
  for (int i = 0; i < 2; ++i) {
    const auto& axes = tables.planes[static_cast<std::size_t>(i)];
    const RowRange rows = plane_rows(out, i);
    FarJob& job = jobs.planes[i];
    job = {plane_span(in, i), plane_span(out, i), job_of(axes[0]), job_of(axes[1])};
    job.out.data += std::ptrdiff_t{rows.begin} * job.out.stride;
    job.down.first += rows.begin;
    job.down.weights += std::ptrdiff_t{rows.begin} * job.down.taps;
    job.out.height = rows.count();
    positions += std::int64_t{job.out.width} * rows.count();
  }
  far_kernel<<<blocks_for(32 * positions, 32 * warps, 16), 32 * warps, 0, stream>>>(jobs);
}

}  // namespace campipe
