// Both planes and both directions in one kernel, on tensor cores (bands.h, tiles.cuh). A block loads what a tile of the
// output is made of, each sample of the input about once; its warps make two blocks of 16 × 16 outputs at a time.
//
// It takes about 9 instructions a sample of the input at half the size, 40 % of what the GPU can issue meanwhile; what
// bounds it is the latency of one round: load, meet, multiply, store. So tiles are small enough for many blocks to be
// on a multiprocessor at once. Fragments of blocks with the same weights are kept once: at the usual ratios (2, 3, 3/2)
// there is one for nearly all blocks, which stays in the first-level cache.
//
// Where a tile's input would not fit into shared memory, at less than about a sixth of the size, see resize_far.h.
#include <algorithm>
#include <map>
#include <vector>

#include "kernels/bands.h"
#include "kernels/device_table.h"
#include "kernels/resize.h"
#include "kernels/resize_far.h"
#include "kernels/tiles.cuh"

namespace campipe {
namespace {

constexpr int warps = 4;
constexpr int wanted_shared_bytes = 28 * 1024;  // so that many blocks are on a multiprocessor at once
constexpr int most_shared_bytes = 48 * 1024;    // what a kernel gets without asking

// Of 16 outputs.
struct Block {
  int first;     // input
  int fragment;  // the first of its fragments
};

struct Direction {
  const Block* blocks;
  const uint4* fragments;
  int steps;  // fragments of 16 inputs that make a block
};

struct TileJob {
  InPlane in;
  OutPlane out;
  Direction across;
  Direction down;
  int tile_columns;
  int tile_rows;
  int first_tile;  // down, of those that make the plane
};

// In blocks: pairs of them side by side, or U's and V's.
struct TileSize {
  int pairs;
  int rows;
};

struct TileJobs {
  TileJob planes[2];
  int luma_tiles_down;
  TileSize size;
};

// Side by side.
__host__ __device__ constexpr int blocks_a_pair(int components) { return components == 1 ? 2 : 1; }

__device__ uint4 fragment_of(const Direction& direction, const Block& block, int step) {
  return __ldg(direction.fragments + (block.fragment + step) * 32 + threadIdx.x % 32);
}

// Two blocks side by side, or U's and V's, in the tile's cells.
struct Columns {
  int a;
  int b;
};

// 16 inputs of both blocks after D: 16 rows of the output.
struct HalfwayPair {
  Halfway a[2];
  Halfway b[2];

  __device__ HalfwayPair() {
    for (int i = 0; i < 2; ++i) a[i] = b[i] = {halfway_start, halfway_start};
  }
  __device__ void add(const Tile& tile, int row, Columns columns, uint4 weights) {
    const uint4 cells_a = read_cells(tile, row, columns.a);
    const uint4 cells_b = read_cells(tile, row, columns.b);
    multiply_down(a[0], weights, cells_a.x, cells_a.y);
    multiply_down(a[1], weights, cells_a.z, cells_a.w);
    multiply_down(b[0], weights, cells_b.x, cells_b.y);
    multiply_down(b[1], weights, cells_b.z, cells_b.w);
  }
};

// `known_steps`: the steps of all directions, so that all weights down are kept in registers; or 0, for any number.
template <int components, int known_steps>
__device__ void make_tile(const TileJob& job, TileSize size, std::uint16_t* cells, int tile_x, int tile_y) {
  const int first_block = tile_x * size.pairs * blocks_a_pair(components);
  const int first_row = tile_y * size.rows;
  const int left = job.across.blocks[first_block].first, top = job.down.blocks[first_row].first;
  const Tile tile{cells, job.tile_rows, job.tile_columns, tile_pitch(job.tile_columns, components)};
  load_tile<components, false, Beyond::anything, 32 * warps, 8>(job.in, left * components, top, tile);

  const int pairs = size.pairs * size.rows;  // one a warp
  const int warp = min(static_cast<int>(threadIdx.x / 32), pairs - 1);
  const int block_row = first_row + warp / size.pairs;
  const int block = first_block + warp % size.pairs * blocks_a_pair(components);
  const Block down = job.down.blocks[block_row];
  const Block a = job.across.blocks[block], b = job.across.blocks[block + blocks_a_pair(components) - 1];
  uint4 weights[known_steps > 0 ? known_steps : 1];
#pragma unroll
  for (int d = 0; d < known_steps; ++d) weights[d] = fragment_of(job.down, down, d);
  __syncthreads();
  if (static_cast<int>(threadIdx.x / 32) >= pairs) return;

  const Columns columns{a.first - left, components == 1 ? b.first - left : a.first - left + tile.columns};
  const int row = down.first - top;
  Sums sums_a, sums_b;
  const auto step = [&](int s) {
    const uint4 weights_a = fragment_of(job.across, a, s), weights_b = fragment_of(job.across, b, s);
    const Columns at{columns.a + 16 * s, columns.b + 16 * s};
    HalfwayPair half;
    if constexpr (known_steps > 0) {
#pragma unroll
      for (int d = 0; d < known_steps; ++d) half.add(tile, row + 16 * d, at, weights[d]);
    } else {
      for (int d = 0; d < job.down.steps; ++d) half.add(tile, row + 16 * d, at, fragment_of(job.down, down, d));
    }
    multiply_across(sums_a, half.a[0], half.a[1], weights_a);
    multiply_across(sums_b, half.b[0], half.b[1], weights_b);
  };
  if constexpr (known_steps > 0) {
#pragma unroll
    for (int s = 0; s < known_steps; ++s) step(s);
  } else {
    for (int s = 0; s < job.across.steps; ++s) step(s);
  }
  const int x = block * 16 * components;
  store_blocks<components>(job.out, x, block_row * 16, job.out.units && x + 32 <= job.out.row_bytes, sums_a, sums_b);
}

template <int known_steps>
__global__ void __launch_bounds__(32 * warps) resize_kernel(const __grid_constant__ TileJobs jobs) {
  extern __shared__ __align__(16) std::uint16_t cells[];
  const int x = static_cast<int>(blockIdx.x), y = static_cast<int>(blockIdx.y);
  if (y < jobs.luma_tiles_down)
    make_tile<1, known_steps>(jobs.planes[0], jobs.size, cells, x, y + jobs.planes[0].first_tile);
  else
    make_tile<2, known_steps>(jobs.planes[1], jobs.size, cells, x,
                              y - jobs.luma_tiles_down + jobs.planes[1].first_tile);
}

// All blocks of one direction.
struct Bands {
  int steps = 0;
  std::vector<Block> blocks;
  std::vector<Fragment> fragments;
};

// One direction of one plane.
struct Axis {
  const AxisWeights& weights;
  int outputs;
  int alignment;  // what the first inputs of blocks are multiples of
  Fragment (*fragment)(const BandWeight&, int first);

  [[nodiscard]] int first_of(int block) const {
    return weights.first[static_cast<std::size_t>(16 * block)] / alignment * alignment;
  }
  [[nodiscard]] double weight(int output, int input) const {
    if (output >= outputs) return 0;
    const int tap = input - weights.first[static_cast<std::size_t>(output)];
    if (tap < 0 || tap >= weights.taps) return 0;
    return weights.weights[static_cast<std::size_t>(output * weights.taps + tap)] / 16384.0;
  }
};

int steps_needed(const Axis& axis) {
  int inputs = 1;
  for (int i = 0; i < axis.outputs; ++i) {
    int last = axis.weights.first[static_cast<std::size_t>(i)] + axis.weights.taps - 1;
    while (axis.weight(i, last) == 0) --last;
    inputs = std::max(inputs, last + 1 - axis.first_of(i / 16));
  }
  return ceil_divide(inputs, 16);
}

Bands make_bands(const Axis& axis, int steps) {
  Bands bands{steps, {}, {}};
  std::map<std::vector<Fragment>, int> known;
  for (int block = 0; block < ceil_divide(axis.outputs, 16); ++block) {
    const int first = axis.first_of(block);
    const BandWeight weight = [&](int output, int input) { return axis.weight(16 * block + output, input); };
    std::vector<Fragment> fragments;
    for (int s = 0; s < steps; ++s) fragments.push_back(axis.fragment(weight, first + 16 * s));
    const auto [found, is_new] = known.emplace(fragments, static_cast<int>(bands.fragments.size()));
    bands.blocks.push_back({first, found->second});
    if (is_new) bands.fragments.insert(bands.fragments.end(), fragments.begin(), fragments.end());
  }
  return bands;
}

// Makes whole tiles of `count` blocks; returns how many inputs a tile is made of at most.
int fill_tiles(Bands& bands, int count) {
  while (bands.blocks.size() % static_cast<std::size_t>(count) != 0) bands.blocks.push_back(bands.blocks.back());
  int most = 0;
  for (std::size_t i = 0; i < bands.blocks.size(); i += static_cast<std::size_t>(count)) {
    const int last = bands.blocks[i + static_cast<std::size_t>(count) - 1].first;
    most = std::max(most, last + 16 * bands.steps - bands.blocks[i].first);
  }
  return most;
}

struct DirectionTables {
  DirectionTables() = default;
  explicit DirectionTables(const Bands& bands)
      : steps(bands.steps),
        blocks(std::span<const Block>(bands.blocks)),
        fragments(std::span<const Fragment>(bands.fragments)) {}

  [[nodiscard]] Direction direction() const { return {blocks.as<Block>(), fragments.as<uint4>(), steps}; }

  int steps = 0;
  DeviceTable blocks;
  DeviceTable fragments;
};

struct TileTables {
  DirectionTables across;
  DirectionTables down;
  int columns = 0;
  int rows = 0;
};

}  // namespace

struct ResizeTables {
  TileSize size{};  // no pairs: by `far`
  int known_steps = 0;
  std::size_t shared_bytes = 0;
  std::array<TileTables, 2> tiles;
  FarTables far;
};

namespace {

using PlaneBands = std::array<Bands, 2>;  // across, down

// Gives the blocks of both planes to tiles of this size. False: they do not fit into so much shared memory.
bool try_size(std::array<PlaneBands, 2> planes, TileSize size, int most_bytes, ResizeTables& tables) {
  tables.shared_bytes = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const int components = static_cast<int>(i) + 1;
    TileTables& tile = tables.tiles[i];
    tile.columns = (fill_tiles(planes[i][0], size.pairs * blocks_a_pair(components)) + 15) / 16 * 16;
    tile.rows = fill_tiles(planes[i][1], size.rows);
    const int bytes = tile.rows * tile_pitch(tile.columns, components) * static_cast<int>(sizeof(std::uint16_t));
    if (bytes > most_bytes || tile.columns * components / unit > 32 * warps) return false;
    tables.shared_bytes = std::max(tables.shared_bytes, static_cast<std::size_t>(bytes));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    tables.tiles[i].across = DirectionTables(planes[i][0]);
    tables.tiles[i].down = DirectionTables(planes[i][1]);
  }
  tables.size = size;
  return true;
}

template <int components>
std::array<Axis, 2> axes_of(const PlaneWeights& plane) {
  const auto across = [](const BandWeight& weight, int first) { return across_fragment(weight, first, components); };
  return {Axis{plane.across, plane.width, 8, across}, Axis{plane.down, plane.height, 1, down_fragment}};
}

constexpr int most_known_steps = 4;

struct AllBands {
  int known_steps;  // the same for all; 0: each has its own, and some more than most_known_steps
  std::array<PlaneBands, 2> planes;
};

AllBands make_all_bands(const std::array<PlaneWeights, 2>& planes) {
  const std::array axes{axes_of<1>(planes[0]), axes_of<2>(planes[1])};
  int most = 0;
  for (const auto& plane : axes) most = std::max({most, steps_needed(plane[0]), steps_needed(plane[1])});
  const int known = most <= most_known_steps ? most : 0;
  const auto bands = [&](const Axis& axis) { return make_bands(axis, known > 0 ? known : steps_needed(axis)); };
  return {known, {PlaneBands{bands(axes[0][0]), bands(axes[0][1])}, PlaneBands{bands(axes[1][0]), bands(axes[1][1])}}};
}

using TileKernel = void (*)(TileJobs);
constexpr TileKernel tile_kernels[most_known_steps + 1] = {resize_kernel<0>, resize_kernel<1>, resize_kernel<2>,
                                                           resize_kernel<3>, resize_kernel<4>};

void launch_tiles(const FrameView& in, const MutableFrameView& out, const ResizeTables& tables, GpuStream stream) {
  TileJobs jobs{};
  jobs.size = tables.size;
  dim3 grid(0, 0);
  for (int i = 0; i < 2; ++i) {
    const TileTables& tile = tables.tiles[static_cast<std::size_t>(i)];
    TileJob& job = jobs.planes[i];
    const OutPlane to = plane_span(out, i);
    job = {plane_span(in, i),
           to,
           tile.across.direction(),
           tile.down.direction(),
           tile.columns,
           tile.rows,
           to.rows.begin / (tables.size.rows * 16)};
    grid.x = static_cast<unsigned>(ceil_divide(job.out.row_bytes, tables.size.pairs * 32));  // of both, the same
    if (to.rows.count() > 0)
      grid.y += static_cast<unsigned>(ceil_divide(to.rows.end, tables.size.rows * 16) - job.first_tile);
    if (i == 0) jobs.luma_tiles_down = static_cast<int>(grid.y);
  }
  const TileKernel kernel = tile_kernels[tables.known_steps];
  kernel<<<grid, 32 * warps, tables.shared_bytes, stream>>>(jobs);
}

}  // namespace

ResizeKernel::ResizeKernel(const std::array<PlaneWeights, 2>& planes) {
  const auto tables = std::make_shared<ResizeTables>();
  const AllBands bands = make_all_bands(planes);
  tables->known_steps = bands.known_steps;
  constexpr TileSize sizes[] = {{2, 2}, {2, 1}, {1, 1}};
  const auto fits_into = [&](int bytes) {
    return std::ranges::any_of(sizes, [&](TileSize size) { return try_size(bands.planes, size, bytes, *tables); });
  };
  const bool fits = fits_into(wanted_shared_bytes) || fits_into(most_shared_bytes);
  if (!fits) tables->far = FarTables(planes);
  tables_ = tables;
}

void enqueue_resize(const FrameView& in, const MutableFrameView& out, const ResizeKernel& kernel, GpuStream stream) {
  if (plane_rows(out, 0).count() + plane_rows(out, 1).count() == 0) return;
  const ResizeTables& tables = kernel.tables();
  if (tables.size.pairs > 0)
    launch_tiles(in, out, tables, stream);
  else
    enqueue_resize_far(in, out, tables.far, stream);
  check_launch("cannot resize");
}

}  // namespace campipe
