// Whole numbers, exactly as on the CPU. A lane has 8 columns, of which it keeps 8 rows and the 2 above and below in
// registers; the columns beside its own it gets from its neighbours, and the outermost lanes of a warp are only there
// for that. Two samples go through each instruction, as 16-bit halves of a word: no sum is above 65280.
//
// About 20 instructions a sample of luma, of which 6 are the last step, which needs 32 bits: that is half of what the
// GPU can issue meanwhile, and what bounds it together with reading rows that the warp above or below reads too (each
// 1.5 times). Tensor cores (bands.h) would save little: the last step stays.
#include "kernels/planes.cuh"
#include "kernels/sharpen.h"

namespace campipe {
namespace {

constexpr int warps = 8;  // of a block, one below the other
constexpr int rows = 8;   // of a warp
constexpr int radius = 2;
constexpr int kept_lanes = 30;
constexpr int copy_rows = 4;  // of a warp, 16 bytes a lane
constexpr int copy_vector = 16;

struct Job {
  InPlane luma;
  OutPlane sharp;
  int tiles_across;
  int luma_tiles;
  int amount;
  InPlane chroma;
  OutPlane copy;
  int copy_tiles_across;
  bool copy_vectors;
};

// Columns 0 2, 4 6, 1 3 and 5 7 of 8.
struct Columns {
  unsigned even[2];
  unsigned odd[2];
};

__device__ Columns widen(uint2 bytes) {
  return {{bytes.x & 0x00ff00ff, bytes.y & 0x00ff00ff},
          {__byte_perm(bytes.x, 0, 0x4341), __byte_perm(bytes.y, 0, 0x4341)}};
}

__device__ unsigned binomial(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e) {
  return a + e + ((b + c + d) << 2) + (c << 1);
}

// The second half of `a`'s pair and the first of `b`'s.
__device__ unsigned between(unsigned a, unsigned b) { return __byte_perm(a, b, 0x5432); }

// Whether a lane's first column is the plane's first, and its last the plane's last: beyond them it mirrors its own.
struct Ends {
  bool left;
  bool right;
};

__device__ Columns combine_across(const Columns& c, Ends ends) {
  const unsigned other_last = __shfl_up_sync(0xffffffff, __byte_perm(c.even[1], c.odd[1], 0x7632), 1);
  const unsigned other_next = __shfl_down_sync(0xffffffff, __byte_perm(c.even[0], c.odd[0], 0x5410), 1);
  const unsigned last = ends.left ? between(c.even[0], c.odd[0]) : other_last;   // -2 -1, or 2 1
  const unsigned next = ends.right ? between(c.even[1], c.odd[1]) : other_next;  // 8 9, or 6 5
  const unsigned even_left = __byte_perm(last, c.even[0], 0x5410);               // -2 0
  const unsigned odd_left = between(last, c.odd[0]);                             // -1 1
  const unsigned even_middle = between(c.even[0], c.even[1]), odd_middle = between(c.odd[0], c.odd[1]);  // 2 4, 3 5
  const unsigned even_right = __byte_perm(c.even[1], next, 0x5432);                                      // 6 8
  const unsigned odd_right = __byte_perm(c.odd[1], next, 0x7632);                                        // 7 9
  return {{binomial(even_left, odd_left, c.even[0], c.odd[0], even_middle),
           binomial(even_middle, odd_middle, c.even[1], c.odd[1], even_right)},
          {binomial(odd_left, c.even[0], c.odd[0], even_middle, odd_middle),
           binomial(odd_middle, c.even[1], c.odd[1], even_right, odd_right)}};
}

// 2^20 times: sharp + (amount · (128 · sharp - soft / 2) / 2^16 + 4) / 8. `soft`, times 256, is even.
struct LastStep {
  int of_sharp;
  int of_soft;

  __device__ explicit LastStep(int amount) : of_sharp(256 * amount + (1 << 20)), of_soft(-amount) {}
  __device__ int operator()(unsigned sharp, unsigned soft) const {
    return (static_cast<int>(sharp) * of_sharp + static_cast<int>(soft) * of_soft + (1 << 19)) >> 20;
  }
};

// Two numbers, clipped to bytes, and above them the lower half of `above`.
__device__ unsigned clip_pair(int low, int high, unsigned above) {
  unsigned bytes;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(high), "r"(low), "r"(above));
  return bytes;
}

__device__ unsigned sharpen_4(unsigned even, unsigned odd, unsigned soft_even, unsigned soft_odd, LastStep step) {
  soft_even &= 0xfffefffe;
  soft_odd &= 0xfffefffe;
  const unsigned upper = clip_pair(step(even >> 16, soft_even >> 16), step(odd >> 16, soft_odd >> 16), 0);
  return clip_pair(step(even & 0xffff, soft_even & 0xffff), step(odd & 0xffff, soft_odd & 0xffff), upper);
}

__device__ void sharpen_tile(const Job& job, int index) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int x = (index % job.tiles_across * kept_lanes + lane - 1) * unit;
  const int y = job.sharp.rows.begin + (index / job.tiles_across * warps + static_cast<int>(threadIdx.x / 32)) * rows;
  if (y >= job.sharp.rows.end) return;
  uint2 bytes[rows + 2 * radius]{};
  Ends ends{};
  if (job.luma.units && job.luma.row_bytes % unit == 0) {
    ends = {x == 0, x + unit == job.luma.row_bytes};
    if (x >= 0 && x < job.luma.row_bytes) {
#pragma unroll
      for (int i = 0; i < rows + 2 * radius; ++i)
        bytes[i] = load_unit(row_at(job.luma, row_mirrored_once(job.luma, y + i - radius)) + x);
    }
  } else {
#pragma unroll
    for (int i = 0; i < rows + 2 * radius; ++i)
      bytes[i] = gather_unit<1>(row_at(job.luma, row_there(job.luma, mirrored(y + i - radius, job.luma.height))),
                                job.luma.width, x);
  }
  const LastStep step(job.amount);
  Columns in[rows + 2 * radius];
#pragma unroll
  for (int i = 0; i < 2 * radius; ++i) in[i] = widen(bytes[i]);
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    in[i + 4] = widen(bytes[i + 4]);
    Columns down;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      down.even[k] =
          binomial(in[i].even[k], in[i + 1].even[k], in[i + 2].even[k], in[i + 3].even[k], in[i + 4].even[k]);
      down.odd[k] = binomial(in[i].odd[k], in[i + 1].odd[k], in[i + 2].odd[k], in[i + 3].odd[k], in[i + 4].odd[k]);
    }
    const Columns soft = combine_across(down, ends);
    const Columns& sharp = in[i + radius];
    const uint2 out{sharpen_4(sharp.even[0], sharp.odd[0], soft.even[0], soft.odd[0], step),
                    sharpen_4(sharp.even[1], sharp.odd[1], soft.even[1], soft.odd[1], step)};
    if (lane > 0 && lane <= kept_lanes) store_unit(job.sharp, x, y + i, out);
  }
}

__device__ void copy_tile(const Job& job, int index) {
  const int x = (index % job.copy_tiles_across * 32 + static_cast<int>(threadIdx.x % 32)) * copy_vector;
  const int y =
      job.copy.rows.begin + (index / job.copy_tiles_across * warps + static_cast<int>(threadIdx.x / 32)) * copy_rows;
  const int count = min(copy_vector, job.copy.row_bytes - x);
#pragma unroll
  for (int i = 0; i < copy_rows; ++i) {
    if (y + i >= job.copy.rows.end) return;
    const std::uint8_t* const from = job.chroma.data + static_cast<std::ptrdiff_t>(y + i) * job.chroma.stride + x;
    std::uint8_t* const to = job.copy.data + static_cast<std::ptrdiff_t>(y + i) * job.copy.stride + x;
    if (job.copy_vectors && count == copy_vector) {
      *reinterpret_cast<uint4*>(to) = __ldg(reinterpret_cast<const uint4*>(from));
    } else {
      for (int k = 0; k < count; ++k) to[k] = from[k];
    }
  }
}

__global__ void __launch_bounds__(32 * warps) sharpen_kernel(const __grid_constant__ Job job) {
  const int block = static_cast<int>(blockIdx.x);
  if (block < job.luma_tiles)
    sharpen_tile(job, block);
  else
    copy_tile(job, block - job.luma_tiles);
}

}  // namespace

void enqueue_sharpen(const FrameView& in, const MutableFrameView& out, int amount, GpuStream stream) {
  Job job{};
  job.luma = plane_span(in, 0, radius);
  job.sharp = plane_span(out, 0);
  job.amount = amount;
  job.chroma = plane_span(in, 1);
  job.copy = plane_span(out, 1);
  job.copy_vectors = is_aligned(job.chroma.data, job.chroma.stride, copy_vector) &&
                     is_aligned(job.copy.data, job.copy.stride, copy_vector);
  job.tiles_across = ceil_divide(job.sharp.row_bytes, kept_lanes * unit);
  job.luma_tiles = job.tiles_across * ceil_divide(job.sharp.rows.count(), warps * rows);
  job.copy_tiles_across = ceil_divide(job.copy.row_bytes, 32 * copy_vector);
  const int copy_tiles = job.copy_tiles_across * ceil_divide(job.copy.rows.count(), warps * copy_rows);
  sharpen_kernel<<<static_cast<unsigned>(job.luma_tiles + copy_tiles), 32 * warps, 0, stream>>>(job);
  check_launch("cannot sharpen");
}

}  // namespace campipe
