// Exactly the CPU's integers. A block has a tile of one component and its neighbourhood in shared memory, as bytes. A
// thread makes 4 columns of 8 rows and walks over the window: for each offset it goes down its rows, and has the
// squared differences of 4 + patch - 1 columns in two or three words (4 absolute differences an instruction, and 4
// squares with their sum). The sums of a row stay in registers until they leave the patch, so that each row of
// differences is made once for all of its patches, and nothing but the tile is ever stored.
//
// Why not the sum of a whole plane for each offset (Darbon et al., Fast nonlocal filtering applied to electron
// cryomicroscopy, ISBI 2008): it would go through memory, 8 bytes a sample and offset, which is more than the 16
// instructions here take. Why not each pair of samples once, as on the CPU: its second sample is another thread's.
//
// Instructions a sample and offset, patch 5: a row of 4 columns takes 23 (5 loads, 2 to align them, 2 differences, 6
// masks, 8 sums), 12 rows for 8: 8.6; then 7.5 for the sum down, the weight (3), and its use (3.5). Bound by the issue
// of these, half of which go to the pipe of additions and logic: docs/performance.md.
#include "kernels/denoise.h"
#include "kernels/planes.cuh"

namespace campipe {
namespace {

constexpr int columns = 4;  // of a thread: a word
constexpr int rows = 8;     // of a thread
constexpr int warps = 4;    // of a block, one below the other
constexpr int tile_width = 32 * columns;
constexpr int tile_height = warps * rows;
constexpr int most_reach = most_denoise_window / 2;
// To the left of the tile there are as many columns as a whole number of words that the window reaches needs, so that
// the patches of a thread's own samples begin with a word. To the right, words are read up to 3 bytes further.
constexpr int left_columns = (most_reach + 3) / 4 * 4;
constexpr int pitch = (left_columns + tile_width + 2 * (most_denoise_patch / 2) + most_reach + 7) / 4 * 4;
constexpr int most_rows = tile_height + 2 * (most_denoise_patch / 2 + most_reach);

// A component of a frame.
struct Component {
  const std::uint8_t* in;
  std::uint8_t* out;
  int in_stride;
  int out_stride;
  int step;  // bytes from one sample to the next
  int width;
  RowRange there;  // of `in`
  RowRange made;   // of `out`
  int tiles_across;
  int first_tile;
};

struct Job {
  Component components[3];
  DenoiseRule rule;
};

__device__ int clamped(int i, RowRange to) { return min(max(i, to.begin), to.end - 1); }

// Column `left_columns` of the tile is the leftmost one of the first sample's patch, its first row the uppermost one
// that the window reaches.
__device__ void load_tile(const Component& of, int x, int y, int reach, int patch, std::uint8_t* tile) {
  const int used_rows = tile_height + 2 * (patch / 2 + reach);
  for (int i = static_cast<int>(threadIdx.x); i < used_rows * pitch; i += 32 * warps) {
    const int column = clamped(x - patch / 2 - left_columns + i % pitch, {0, of.width});
    const int row = clamped(y - patch / 2 - reach + i / pitch, of.there);
    tile[i] = __ldg(of.in + static_cast<std::ptrdiff_t>(row) * of.in_stride + column * of.step);
  }
}

// The absolute differences of a row, of the columns that the patches of 4 samples have.
template <int patch>
struct Differences {
  static constexpr int words = (patch + columns - 1 + 3) / 4;
  unsigned word[words];

  // The squares of the patch of sample `i` added up. The whole words first, as they are the same for several samples.
  [[nodiscard]] __device__ unsigned squares(int i) const {
    unsigned sum = 0;
#pragma unroll
    for (int k = 0; k < words; ++k)
      if (mask(i, k) == ~0U) sum = __dp4a(word[k], word[k], sum);
#pragma unroll
    for (int k = 0; k < words; ++k)
      if (mask(i, k) != ~0U && mask(i, k) != 0) sum = __dp4a(word[k], word[k] & mask(i, k), sum);
    return sum;
  }

 private:
  // The bytes of word `k` that belong to the patch of sample `i`; known when it is compiled.
  static constexpr __device__ unsigned mask(int i, int k) {
    unsigned bytes = 0;
    for (int b = 0; b < 4; ++b)
      if (4 * k + b >= i && 4 * k + b < i + patch) bytes |= 0xffU << 8 * b;
    return bytes;
  }
};

struct Sums {
  unsigned weights[rows][columns];
  unsigned samples[rows][columns];  // times their weights
};

// Adds the samples at one offset. `own`: the word in which the patches of the thread's first row begin; `other`: the
// one in which those at the offset do, behind `shift` bits.
template <int patch>
__device__ void add_offset(const unsigned* own, const unsigned* other, unsigned shift, const DenoiseRule& rule,
                           Sums& sums) {
  constexpr int words = Differences<patch>::words;
  constexpr int radius = patch / 2;
  unsigned across[patch][columns];  // the rows that are in the patch
  unsigned squares[columns] = {};
  unsigned centres[radius + 1];  // the samples themselves, of the rows down to the patch's last
#pragma unroll
  for (int row = 0; row < rows + patch - 1; ++row, own += pitch / 4, other += pitch / 4) {
    unsigned there[words + 1];
#pragma unroll
    for (int k = 0; k <= words; ++k) there[k] = other[k];
    Differences<patch> differences;
#pragma unroll
    for (int k = 0; k < words; ++k) {
      there[k] = __funnelshift_r(there[k], there[k + 1], shift);
      differences.word[k] = __vabsdiffu4(own[k], there[k]);
    }
    centres[row % (radius + 1)] = __funnelshift_r(there[0], there[1], 8 * radius);
#pragma unroll
    for (int i = 0; i < columns; ++i) {
      const unsigned entering = differences.squares(i);
      squares[i] += row < patch ? entering : entering - across[row % patch][i];
      across[row % patch][i] = entering;
    }
    if (row < patch - 1) continue;
    const int made = row - (patch - 1);
    const unsigned even = centres[(row - radius) % (radius + 1)], odd = even >> 8;
#pragma unroll
    for (int i = 0; i < columns; ++i) {
      const unsigned weight = rule.weight(squares[i]);
      const unsigned samples = i % 2 == 0 ? even : odd;
      unsigned& sum = sums.samples[made][i];
      sums.weights[made][i] += weight;
      sum = i < 2 ? __dp2a_lo(weight, samples, sum) : __dp2a_hi(weight, samples, sum);
    }
  }
}

template <int patch>
__global__ void __launch_bounds__(32 * warps) denoise_kernel(const __grid_constant__ Job job) {
  __shared__ __align__(16) std::uint8_t tile[most_rows * pitch];
  const int block = static_cast<int>(blockIdx.x);
  const Component& of = job.components[block >= job.components[2].first_tile   ? 2
                                       : block >= job.components[1].first_tile ? 1
                                                                               : 0];
  const int index = block - of.first_tile;
  const int left = index % of.tiles_across * tile_width;
  const int top = of.made.begin + index / of.tiles_across * tile_height;
  const int reach = job.rule.window / 2;
  load_tile(of, left, top, reach, patch, tile);
  __syncthreads();

  const int column = static_cast<int>(threadIdx.x % 32) * columns;
  const int row = static_cast<int>(threadIdx.x / 32) * rows;
  const unsigned* const words = reinterpret_cast<const unsigned*>(tile);
  const auto word_at = [&](int x, int y) { return words + (row + reach + y) * (pitch / 4) + (left_columns + x) / 4; };
  Sums sums{};
  for (int y = -reach; y <= reach; ++y) {
    for (int x = -reach; x <= reach; ++x) {
      const int at = column + x;
      add_offset<patch>(word_at(column, 0), word_at(at, y), static_cast<unsigned>(at & 3) * 8, job.rule, sums);
    }
  }
#pragma unroll
  for (int y = 0; y < rows; ++y) {
    if (top + row + y >= of.made.end) return;
    std::uint8_t* const out = of.out + static_cast<std::ptrdiff_t>(top + row + y) * of.out_stride;
#pragma unroll
    for (int i = 0; i < columns; ++i) {
      const int x = left + column + i;
      const unsigned weights = sums.weights[y][i];
      if (x < of.width) out[x * of.step] = static_cast<std::uint8_t>((sums.samples[y][i] + weights / 2) / weights);
    }
  }
}

template <int patch>
void launch(const Job& job, int tiles, GpuStream stream) {
  denoise_kernel<patch><<<static_cast<unsigned>(tiles), 32 * warps, 0, stream>>>(job);
}

}  // namespace

void enqueue_denoise(const FrameView& in, const MutableFrameView& out, const DenoiseRule& rule, GpuStream stream) {
  Job job{{}, rule};
  int tiles = 0;
  for (int i = 0; i < 3; ++i) {
    const int plane = i == 0 ? 0 : 1;
    const InPlane from = plane_span(in, plane);
    const OutPlane to = plane_span(out, plane);
    const int second = i == 2 ? 1 : 0;
    const int across = ceil_divide(from.width, tile_width);
    job.components[i] = {from.data + second, to.data + second, from.stride, to.stride, plane + 1,
                         from.width,         from.rows,        to.rows,     across,    tiles};
    tiles += across * ceil_divide(to.rows.count(), tile_height);
  }
  (rule.patch == 3 ? launch<3> : rule.patch == 5 ? launch<5> : launch<7>)(job, tiles, stream);
  check_launch("cannot denoise");
}

}  // namespace campipe
