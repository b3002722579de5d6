// One kernel for both planes and both directions, on tensor cores (bands.h, tiles.cuh). A block loads a tile with a
// halo of the kernel's radius; a warp makes 16 rows of it: D for 16 columns after the other, which stay in registers,
// and A as soon as there are enough of them.
//
// Why tensor cores: with one multiplication a tap, a radius of 5 is 22 instructions a sample and one of 53 is 214, and
// the GPU can issue about 25 in twice the time of a copy. This way it is 13 for a radius of 5 and about 22 for 17 and
// for 53: of these 5 to 10 load and widen, the halo too; 3 to 6 are the products, 4 the output.
//
// What bounds it, measured on an H200: neither memory nor issue slots, but that a block first waits for its tile and
// then computes, with 16 (radius 17 and more) to 32 warps on a multiprocessor to fill the waits of the others. More
// loads on their way at once did not help.
//
// Where the radius is over 24 the tile is halved in both directions, which leaves a fourth of the products: two
// neighbours then have the mean of their two weights. At a sigma of 7 these are 0.5 % of the whole apart at most.
#include <cstdlib>
#include <iterator>
#include <vector>

#include "kernels/bands.h"
#include "kernels/blur.h"
#include "kernels/tiles.cuh"

namespace campipe {
namespace {

struct Job {
  InPlane in[2];
  OutPlane out[2];
  int tiles_across[2];
  int luma_tiles;
  int first_row[2];  // of the tiles: whole blocks from the frame's top, so that a band is made as in the whole frame
  const uint4* fragments;  // of D, of A for luma, of A for chroma: `steps` each
};

// `steps`: fragments of 16 inputs that make a block of 16 outputs. `blocks`: of 16 outputs that a warp makes of luma.
// `resident`: blocks of warps that a multiprocessor should have registers for.
template <int steps_, bool halved_, int warps_, int blocks_, int resident_>
struct Shape {
  static constexpr int resident = resident_;
  static constexpr int steps = steps_;
  static constexpr bool halved = halved_;
  static constexpr int warps = warps_;
  static constexpr int luma_blocks = blocks_;
  static constexpr int scale = halved ? 2 : 1;
  static constexpr int cells = 16 / scale;  // for 16 outputs
  static constexpr int halo = (16 * steps - cells) / 2;
  static constexpr int radius = halo * scale;
  static constexpr int tile_rows = warps * cells + 2 * halo;
  __host__ __device__ static constexpr int blocks(int components) { return luma_blocks / components; }
  __host__ __device__ static constexpr int columns(int components) {
    return (blocks(components) * cells + 2 * halo + 15) / 16 * 16;
  }
  static constexpr int most_pitch = tile_pitch(columns(2), 2) > tile_pitch(columns(1), 1) ? tile_pitch(columns(2), 2)
                                                                                          : tile_pitch(columns(1), 1);
  static constexpr int shared_bytes = tile_rows * most_pitch * static_cast<int>(sizeof(std::uint16_t));
};

template <int components, typename S>
__device__ void blur_tile(const Job& job, std::uint16_t* cells, int x, int y) {
  constexpr int plane = components - 1;
  constexpr int columns = S::columns(components);
  constexpr int tiles = columns / 8;  // of 8 cells
  constexpr int tiles_a_block = S::cells / 8;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  uint4 down[S::steps], across[S::steps];
#pragma unroll
  for (int s = 0; s < S::steps; ++s) {
    down[s] = __ldg(job.fragments + s * 32 + lane);
    across[s] = __ldg(job.fragments + ((plane + 1) * S::steps + s) * 32 + lane);
  }
  const Tile tile{cells, S::tile_rows, columns, tile_pitch(columns, components)};
  load_tile<components, S::halved, Beyond::mirrored, 32 * S::warps, S::halved ? 4 : 6>(
      job.in[plane], x - S::radius * components, y - S::radius, tile);
  __syncthreads();

  Halfway halfway[components][tiles];
  Sums first;
#pragma unroll
  for (int t = 0; t < tiles; t += 2) {
#pragma unroll
    for (int c = 0; c < components; ++c) {
      Halfway* const pair = halfway[c] + t;
      pair[0].upper = pair[0].lower = pair[1].upper = pair[1].lower = S::halved ? halfway_start_halved : halfway_start;
#pragma unroll
      for (int s = 0; s < S::steps; ++s) {
        const uint4 in = read_cells(tile, warp * S::cells + 16 * s, c * columns + 8 * t);
        multiply_down(pair[0], down[s], in.x, in.y);
        multiply_down(pair[1], down[s], in.z, in.w);
      }
    }
#pragma unroll
    for (int block = 0; block < S::blocks(components); ++block) {
      const int last = block * tiles_a_block + 2 * S::steps - 1;
      if (last != t && last != t + 1) continue;
      Sums sums[components];
#pragma unroll
      for (int c = 0; c < components; ++c) {
#pragma unroll
        for (int s = 0; s < S::steps; ++s) {
          const Halfway* const pair = halfway[c] + block * tiles_a_block + 2 * s;
          multiply_across(sums[c], pair[0], pair[1], across[s]);
        }
      }
      const int row = y + warp * 16;
      const OutPlane& out = job.out[plane];
      const bool whole = out.units && x + S::luma_blocks * 16 <= out.row_bytes;
      if constexpr (components == 2) {
        store_blocks<2>(out, x + block * 32, row, whole, sums[0], sums[components - 1]);
      } else if (block % 2 == 0) {
        first = sums[0];
      } else {
        store_blocks<1>(out, x + (block - 1) * 16, row, whole, first, sums[0]);
      }
    }
  }
}

template <typename S>
__global__ void __launch_bounds__(32 * S::warps, S::resident) blur_kernel(const __grid_constant__ Job job) {
  extern __shared__ __align__(16) std::uint16_t cells[];
  const int block = static_cast<int>(blockIdx.x);
  const int plane = block >= job.luma_tiles ? 1 : 0;
  const int index = block - (plane == 0 ? 0 : job.luma_tiles);
  const int x = index % job.tiles_across[plane] * S::luma_blocks * 16;  // in bytes
  const int y = job.first_row[plane] + index / job.tiles_across[plane] * S::warps * 16;
  if (plane == 0)
    blur_tile<1, S>(job, cells, x, y);
  else
    blur_tile<2, S>(job, cells, x, y);
}

using Half = std::span<const std::int16_t>;

template <typename S>
std::vector<Fragment> fragments_of(Half half) {
  const auto weight_at = [&](int distance) {
    const auto index = static_cast<std::size_t>(std::abs(distance));
    return index < half.size() ? half[index] / 16384.0 : 0.0;
  };
  const BandWeight weight = [&](int output, int cell) {
    const int distance = (cell - S::halo) * S::scale - output;
    return S::halved ? (weight_at(distance) + weight_at(distance + 1)) / 2 : weight_at(distance);
  };
  std::vector<Fragment> fragments;
  for (int s = 0; s < S::steps; ++s) fragments.push_back(down_fragment(weight, 16 * s));
  for (const int components : {1, 2}) {
    for (int s = 0; s < S::steps; ++s) fragments.push_back(across_fragment(weight, 16 * s, components));
  }
  return fragments;
}

template <typename S>
void allow_shared_memory() {
  cuda_check(cudaFuncSetAttribute(blur_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes),
             "cannot prepare the blur");
}

template <typename S>
void launch(Job job, GpuStream stream) {
  int blocks = 0;
  for (int i = 0; i < 2; ++i) {
    job.tiles_across[i] = ceil_divide(job.out[i].row_bytes, S::luma_blocks * 16);
    job.first_row[i] = job.out[i].rows.begin / 16 * 16;
    blocks += job.tiles_across[i] * ceil_divide(job.out[i].rows.end - job.first_row[i], S::warps * 16);
    if (i == 0) job.luma_tiles = blocks;
  }
  blur_kernel<S><<<static_cast<unsigned>(blocks), 32 * S::warps, S::shared_bytes, stream>>>(job);
  check_launch("cannot blur");
}

struct ShapeInfo {
  int radius;
  std::vector<Fragment> (*fragments)(Half);
  void (*prepare)();
  void (*launch)(Job, GpuStream);
};

template <typename S>
constexpr ShapeInfo info() {
  return {S::radius, fragments_of<S>, allow_shared_memory<S>, launch<S>};
}

// By radius. Their shared memory is at most the 64 KiB that all GPUs have.
constexpr ShapeInfo shapes[] = {
    info<Shape<2, false, 4, 8, 8>>(),  // radius 8
    info<Shape<3, false, 4, 8, 5>>(),  // 16
    info<Shape<4, false, 4, 8, 4>>(),  // 24
    info<Shape<3, true, 8, 12, 3>>(),  // 40
    info<Shape<4, true, 8, 12, 2>>(),  // 56
    info<Shape<5, true, 8, 8, 2>>(),   // 72
};

}  // namespace

BlurKernel::BlurKernel(Half half) {
  const int radius = static_cast<int>(half.size()) - 1;
  while (shapes[shape_].radius < radius) {
    if (++shape_ == std::ssize(shapes)) throw Error("the GPU's blur reaches no further than 72 samples");
  }
  shapes[shape_].prepare();
  fragments_ = DeviceTable(std::span<const Fragment>(shapes[shape_].fragments(half)));
}

void enqueue_blur(const FrameView& in, const MutableFrameView& out, const BlurKernel& kernel, GpuStream stream) {
  const ShapeInfo& shape = shapes[kernel.shape()];
  Job job{};
  for (int i = 0; i < 2; ++i) {
    job.in[i] = plane_span(in, i, shape.radius + 1);
    job.out[i] = plane_span(out, i);
  }
  job.fragments = kernel.fragments().as<uint4>();
  shape.launch(job, stream);
}

}  // namespace campipe
