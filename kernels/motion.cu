#include <atomic>

#include "kernels/launch.h"
#include "kernels/motion.h"
#include "kernels/planes.cuh"

namespace campipe {
namespace {

constexpr int block = 256;
constexpr int all_bins = motion_ranges * motion_bins;
constexpr unsigned whole_warp = 0xffffffff;

// Each kernel reads what the one before it wrote, and nothing that it writes itself.
struct Tally {
  int bins[all_bins];         // differences of cells; one range behind the other
  int shifts[motion_ranges];  // their medians
  int changed;                // cells of all
  MotionCount count;
  int settling;  // so long still, in ms
};

struct Job {
  MotionRule rule;
  std::uint16_t* means;
  MotionCell* cells;
  std::int8_t* matches;  // modes
  std::int16_t* off;     // framed
  Tally* tally;
  MotionCount* result;  // in page-locked memory
};

__device__ int thread_index() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }
__device__ int thread_count() { return static_cast<int>(gridDim.x * blockDim.x); }

__device__ unsigned sum_of_unit(uint2 bytes) { return __dp4a(bytes.x, 0x01010101U, __dp4a(bytes.y, 0x01010101U, 0U)); }

// Of a row of a whole cell.
template <int side>
__device__ unsigned sum_of_row(const std::uint8_t* row) {
  if constexpr (side == 4) {
    return __dp4a(*reinterpret_cast<const unsigned*>(row), 0x01010101U, 0U);
  } else {
    unsigned sum = 0;
#pragma unroll
    for (int x = 0; x < side; x += 8) sum += sum_of_unit(load_unit(row + x));
    return sum;
  }
}

template <int side>
__device__ std::uint16_t mean_of_cell(const InPlane& in, int column, int row) {
  const int x = column * side, y = row * side;
  const int width = min(side, in.width - x), height = min(side, in.height - y);
  unsigned sum = 0;
  if (in.units && width == side && height == side) {
#pragma unroll
    for (int i = 0; i < side; ++i) sum += sum_of_row<side>(row_at(in, y + i) + x);
  } else {
    for (int i = 0; i < height; ++i)
      for (int k = 0; k < width; ++k) sum += row_at(in, y + i)[x + k];
  }
  return motion_mean(sum, static_cast<unsigned>(width * height));
}

// The lanes of a warp that have the same bin add together: most cells of most frames do not change.
__device__ void count_one(int* bins, int bin) {
  const unsigned same = __match_any_sync(__activemask(), bin);
  if (static_cast<int>(threadIdx.x % 32) == __ffs(static_cast<int>(same)) - 1) atomicAdd(bins + bin, __popc(same));
}

template <int side>
__global__ void __launch_bounds__(block)
    measure_kernel(const __grid_constant__ Job job, const __grid_constant__ InPlane in) {
  __shared__ int bins[all_bins];
  for (int i = static_cast<int>(threadIdx.x); i < all_bins; i += block) bins[i] = 0;
  __syncthreads();
  for (int i = thread_index(); i < job.rule.cells(); i += thread_count()) {
    const std::uint16_t mean = mean_of_cell<side>(in, i % job.rule.columns, i / job.rule.columns);
    const MotionMode mode = job.cells[i].modes[0];
    job.means[i] = mean;
    count_one(bins, motion_range(mode.mean) * motion_bins + motion_bin(motion_difference(mean, mode)));
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < all_bins; i += block) {
    if (bins[i] != 0) atomicAdd(job.tally->bins + i, bins[i]);
  }
}

// By one warp: the median of the differences of a range, and how many these are.
__device__ void find_median(const int* bins, int& median, int& cells) {
  constexpr int per_lane = motion_bins / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  int own = 0;
  for (int i = 0; i < per_lane; ++i) own += bins[lane * per_lane + i];
  int up_to = own;
  for (int step = 1; step < 32; step *= 2) {
    const int below = __shfl_up_sync(whole_warp, up_to, step);
    if (lane >= step) up_to += below;
  }
  const int all = __shfl_sync(whole_warp, up_to, 31);
  const int half = (all + 1) / 2;
  const int holder = __ffs(static_cast<int>(__ballot_sync(whole_warp, up_to >= half))) - 1;
  if (lane != holder) return;
  int bin = lane * per_lane, below = up_to - own;
  for (; below + bins[bin] < half; ++bin) below += bins[bin];
  median = motion_median(bin, below, bins[bin], all);
  cells = all;
}

// By all of a block, a warp for each range.
__device__ void find_shifts(const int* bins, int cells, int* shifts) {
  __shared__ int medians[motion_ranges], in_range[motion_ranges];
  static_assert(block == 32 * motion_ranges);
  const int warp = static_cast<int>(threadIdx.x / 32), thread = static_cast<int>(threadIdx.x);
  find_median(bins + warp * motion_bins, medians[warp], in_range[warp]);
  __syncthreads();
  if (thread < motion_ranges) shifts[thread] = motion_shift(thread, medians, in_range, cells);
}

__device__ int sum_of_warp(int value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(whole_warp, value, step);
  return value;
}

// Of all threads of the grid; `total` is the block's own, in shared memory.
__device__ void add_up(int own, int* total, int* sum) {
  __syncthreads();
  if (threadIdx.x == 0) *total = 0;
  __syncthreads();
  own = sum_of_warp(own);
  if (threadIdx.x % 32 == 0 && own > 0) atomicAdd(total, own);
  __syncthreads();
  if (threadIdx.x == 0 && *total > 0) atomicAdd(sum, *total);
}

__global__ void __launch_bounds__(block) compare_kernel(const __grid_constant__ Job job) {
  __shared__ int shifts[motion_ranges], total;
  find_shifts(job.tally->bins, job.rule.cells(), shifts);
  __syncthreads();
  if (blockIdx.x == 0 && threadIdx.x < motion_ranges) job.tally->shifts[threadIdx.x] = shifts[threadIdx.x];
  int changed = 0;
  for (int i = thread_index(); i < job.rule.cells(); i += thread_count()) {
    const int column = i % job.rule.columns, row = i / job.rule.columns;
    const MotionMatch match = motion_match(job.rule, job.cells + i, job.means[i], column, row, shifts);
    job.matches[i] = static_cast<std::int8_t>(match.mode);
    job.off[job.rule.framed(column, row)] = static_cast<std::int16_t>(match.off);
    changed += motion_changed(match.off, job.rule.threshold) ? 1 : 0;
  }
  add_up(changed, &total, &job.tally->changed);
}

__device__ bool is_another_scene(const Job& job) {
  return job.tally->settling == 0 && motion_is_another_scene(job.tally->changed, job.rule.cells());
}

__global__ void __launch_bounds__(block) adapt_kernel(const __grid_constant__ Job job, int step) {
  __shared__ int shifts[motion_ranges], total;
  const MotionRule& rule = job.rule;
  const bool another = is_another_scene(job);
  const bool settling = another || job.tally->settling > 0;
  if (threadIdx.x < motion_ranges) shifts[threadIdx.x] = another ? 0 : job.tally->shifts[threadIdx.x];
  __syncthreads();
  int moving = 0, sharp = 0;
  for (int i = thread_index(); i < rule.cells(); i += thread_count()) {
    const int column = i % rule.columns, row = i / rule.columns;
    const std::int16_t* const off = job.off + rule.framed(column, row);
    if (rule.watches(column, row) && motion_changed(*off, rule.threshold)) {
      const MotionEdge edge = motion_edge(off, rule.columns, rule.threshold);
      moving += edge.accompanied ? 1 : 0;
      sharp += edge.accompanied && edge.sharp ? 1 : 0;
    }
    MotionCell cell = job.cells[i];
    const int match = another ? -1 : job.matches[i];
    motion_adapt(cell, job.means[i], shifts, match, settling, step);
    job.cells[i] = cell;
  }
  add_up(moving, &total, &job.tally->count.moving);
  add_up(sharp, &total, &job.tally->count.sharp);
}

// By one block.
__global__ void __launch_bounds__(block) finish_kernel(const __grid_constant__ Job job, int step) {
  Tally& tally = *job.tally;
  for (int i = static_cast<int>(threadIdx.x); i < all_bins; i += block) tally.bins[i] = 0;
  if (threadIdx.x > 0) return;
  const bool another = is_another_scene(job);
  *job.result = another || tally.settling > 0 ? MotionCount{} : tally.count;
  tally.settling = another ? motion_settling : max(tally.settling - step, 0);
  tally.changed = 0;
  tally.count = {};
}

template <typename T>
T* of_zeros(DeviceBytes& memory, int count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  memory = allocate_on_device(bytes);
  cuda_check(cudaMemset(memory.get(), 0, bytes), "cannot clear a filter's memory on the GPU");
  return reinterpret_cast<T*>(memory.get());
}

}  // namespace

struct MotionTables {
  explicit MotionTables(const MotionRule& rule)
      : job{rule,
            of_zeros<std::uint16_t>(means, rule.cells()),
            of_zeros<MotionCell>(cells, rule.cells()),
            of_zeros<std::int8_t>(matches, rule.cells()),
            of_zeros<std::int16_t>(off, rule.framed_cells()),
            of_zeros<Tally>(tally, 1),
            reinterpret_cast<MotionCount*>(result.get())} {
    *job.result = {};
    const std::size_t framed = static_cast<std::size_t>(rule.framed_cells()) * sizeof(std::int16_t);
    cuda_check(cudaMemset(job.off, motion_outside_byte, framed), "cannot clear a filter's memory on the GPU");
    // What clears memory does so on a stream that ours does not wait for.
    cuda_check(cudaStreamSynchronize(nullptr), "cannot clear a filter's memory on the GPU");
  }

  DeviceBytes means;
  DeviceBytes cells;
  DeviceBytes matches;
  DeviceBytes off;
  DeviceBytes tally;
  PinnedBytes result = allocate_pinned(sizeof(MotionCount));
  Job job;
};

MotionBackground::MotionBackground(const MotionRule& rule) : tables_(std::make_shared<MotionTables>(rule)) {}

MotionCount MotionBackground::count() const {
  if (!tables_) return {};
  MotionCount& result = *tables_->job.result;
  return {std::atomic_ref(result.moving).load(std::memory_order_acquire),
          std::atomic_ref(result.sharp).load(std::memory_order_acquire)};
}

void enqueue_motion(const FrameView& in, const MotionBackground& background, int step, GpuStream stream) {
  const Job& job = background.tables().job;
  const unsigned all = blocks_for(job.rule.cells(), block, 8);
  const unsigned few = blocks_for(job.rule.cells(), block, 1);
  const auto measure = job.rule.side == 4   ? measure_kernel<4>
                       : job.rule.side == 8 ? measure_kernel<8>
                                            : measure_kernel<16>;
  measure<<<all, block, 0, stream>>>(job, plane_span(in, 0));
  check_launch("cannot measure motion");
  compare_kernel<<<few, block, 0, stream>>>(job);
  check_launch("cannot measure motion");
  adapt_kernel<<<few, block, 0, stream>>>(job, step);
  check_launch("cannot measure motion");
  finish_kernel<<<1, block, 0, stream>>>(job, step);
  check_launch("cannot measure motion");
}

}  // namespace campipe
