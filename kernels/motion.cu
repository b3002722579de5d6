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
  int watched;                // of those that are watched
  int pictures;               // that the background is made of, motion_settling_pictures at most
  int pictures_next;
};

struct Job {
  MotionRule rule;
  std::uint16_t* means;
  std::int32_t* background;
  Tally* tally;
  int* result;  // in page-locked memory
};

__device__ int thread_index() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }
__device__ int thread_count() { return static_cast<int>(gridDim.x * blockDim.x); }

__device__ unsigned sum_of_unit(uint2 bytes) { return __dp4a(bytes.x, 0x01010101U, __dp4a(bytes.y, 0x01010101U, 0U)); }

// A row of a whole cell is a unit.
__device__ std::uint16_t mean_of_cell(const InPlane& in, int column, int row) {
  const int x = column * motion_cell, y = row * motion_cell;
  const int width = min(motion_cell, in.width - x), height = min(motion_cell, in.height - y);
  unsigned sum = 0;
  if (in.units && width == motion_cell && height == motion_cell) {
    uint2 rows[motion_cell];
#pragma unroll
    for (int i = 0; i < motion_cell; ++i) rows[i] = load_unit(row_at(in, y + i) + x);
#pragma unroll
    for (int i = 0; i < motion_cell; ++i) sum += sum_of_unit(rows[i]);
  } else {
    for (int i = 0; i < height; ++i)
      for (int k = 0; k < width; ++k) sum += row_at(in, y + i)[x + k];
  }
  return motion_mean(sum, static_cast<unsigned>(width * height));
}

// The lanes of a warp that have the same bin add together: most cells of most pictures do not change.
__device__ void count_one(int* bins, int bin) {
  const unsigned same = __match_any_sync(__activemask(), bin);
  if (static_cast<int>(threadIdx.x % 32) == __ffs(static_cast<int>(same)) - 1) atomicAdd(bins + bin, __popc(same));
}

__global__ void __launch_bounds__(block)
    measure_kernel(const __grid_constant__ Job job, const __grid_constant__ InPlane in) {
  __shared__ int bins[all_bins];
  for (int i = static_cast<int>(threadIdx.x); i < all_bins; i += block) bins[i] = 0;
  __syncthreads();
  for (int i = thread_index(); i < job.rule.cells(); i += thread_count()) {
    const std::uint16_t mean = mean_of_cell(in, i % job.rule.columns, i / job.rule.columns);
    const std::int32_t background = job.background[i];
    job.means[i] = mean;
    count_one(bins, motion_range(background) * motion_bins + motion_bin(motion_difference(mean, background)));
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < all_bins; i += block) {
    if (bins[i] != 0) atomicAdd(job.tally->bins + i, bins[i]);
  }
  if (thread_index() > 0) return;
  job.tally->pictures = job.tally->pictures_next;
  job.tally->changed = 0;
  job.tally->watched = 0;
}

// By one warp: the first bin up to which at least half of the cells lie, and how many these are.
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
  int bin = lane * per_lane;
  for (int left = half - (up_to - own) - bins[bin]; left > 0; left -= bins[bin]) ++bin;
  median = bin;
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

__global__ void __launch_bounds__(block) count_kernel(const __grid_constant__ Job job) {
  __shared__ int shifts[motion_ranges], changed, watched;
  find_shifts(job.tally->bins, job.rule.cells(), shifts);
  if (threadIdx.x == 0) changed = watched = 0;
  __syncthreads();
  if (blockIdx.x == 0 && threadIdx.x < motion_ranges) job.tally->shifts[threadIdx.x] = shifts[threadIdx.x];
  int own_changed = 0, own_watched = 0;
  for (int i = thread_index(); i < job.rule.cells(); i += thread_count()) {
    const std::int32_t background = job.background[i];
    const int difference = motion_difference(job.means[i], background);
    if (!motion_changed(difference, shifts[motion_range(background)], job.rule.threshold)) continue;
    ++own_changed;
    if (job.rule.watches(i % job.rule.columns, i / job.rule.columns)) ++own_watched;
  }
  own_changed = sum_of_warp(own_changed);
  own_watched = sum_of_warp(own_watched);
  if (threadIdx.x % 32 == 0 && own_changed > 0) {
    atomicAdd(&changed, own_changed);
    atomicAdd(&watched, own_watched);
  }
  __syncthreads();
  if (threadIdx.x > 0 || changed == 0) return;
  atomicAdd(&job.tally->changed, changed);
  atomicAdd(&job.tally->watched, watched);
}

__global__ void __launch_bounds__(block) adapt_kernel(const __grid_constant__ Job job) {
  Tally& tally = *job.tally;
  const bool another = motion_is_another_scene(tally.changed, job.rule.cells());
  const bool settled = tally.pictures >= motion_settling_pictures;
  const int pictures = settled && another ? 0 : tally.pictures;
  const bool settling = pictures < motion_settling_pictures;
  for (int i = thread_index(); i < job.rule.cells(); i += thread_count()) {
    const std::uint16_t mean = job.means[i];
    const std::int32_t before = job.background[i];
    const int shift = tally.shifts[motion_range(before)];
    const bool changed = motion_changed(motion_difference(mean, before), shift, job.rule.threshold);
    job.background[i] =
        settling ? motion_settled(before, mean, pictures) : motion_adapted(before, mean, shift, changed);
  }
  if (blockIdx.x > 0) return;
  for (int i = static_cast<int>(threadIdx.x); i < all_bins; i += block) tally.bins[i] = 0;
  if (threadIdx.x > 0) return;
  tally.pictures_next = settling ? pictures + 1 : pictures;
  *job.result = settling || tally.watched < job.rule.least ? 0 : tally.watched;
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
      : job{rule, of_zeros<std::uint16_t>(means, rule.cells()), of_zeros<std::int32_t>(background, rule.cells()),
            of_zeros<Tally>(tally, 1), reinterpret_cast<int*>(result.get())} {
    *job.result = 0;
    // What clears memory does so on a stream that ours does not wait for.
    cuda_check(cudaStreamSynchronize(nullptr), "cannot clear a filter's memory on the GPU");
  }

  DeviceBytes means;
  DeviceBytes background;
  DeviceBytes tally;
  PinnedBytes result = allocate_pinned(sizeof(int));
  Job job;
};

MotionBackground::MotionBackground(const MotionRule& rule) : tables_(std::make_shared<MotionTables>(rule)) {}

int MotionBackground::changed() const {
  if (!tables_) return 0;
  return std::atomic_ref(*tables_->job.result).load(std::memory_order_acquire);
}

void enqueue_motion(const FrameView& in, const MotionBackground& background, GpuStream stream) {
  const Job& job = background.tables().job;
  const unsigned all = blocks_for(job.rule.cells(), block, 8);
  const unsigned few = blocks_for(job.rule.cells(), block, 1);
  measure_kernel<<<all, block, 0, stream>>>(job, plane_span(in, 0));
  check_launch("cannot measure motion");
  count_kernel<<<few, block, 0, stream>>>(job);
  check_launch("cannot measure motion");
  adapt_kernel<<<few, block, 0, stream>>>(job);
  check_launch("cannot measure motion");
}

}  // namespace campipe
