#include <cstring>

#include "kernels/launch.h"
#include "kernels/planes.cuh"
#include "kernels/pointwise.h"
#include "kernels/row_walk.cuh"

namespace campipe {
namespace {

constexpr int block = 512;
constexpr int blocks_per_multiprocessor = 4;
// As many as the chip that the code is made for has threads for.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int resident = 2;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900
constexpr int resident = 3;
#else
constexpr int resident = 4;
#endif
constexpr int vector = 16;

struct Job {
  const std::uint8_t* in[2];
  std::ptrdiff_t in_stride[2];
  std::uint8_t* out[2];
  std::ptrdiff_t out_stride[2];
  int row_bytes[2];
  int luma_rows;
  int rows;  // of both planes
};

constexpr int table_words = 64;

struct Tables {
  unsigned luma[table_words];
  unsigned chroma[table_words];
};

// Four entries of a table to a word, and each word 32 times side by side, once in every bank: a lane looks only into
// its own bank, so that 32 look-ups at 32 places take one cycle.
constexpr int entry_group = 32 * 4;  // bytes from a word to the next
constexpr int table_bytes = table_words * entry_group;

__device__ void fill(const unsigned* words, std::uint8_t* table) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int i = static_cast<int>(threadIdx.x / 32); i < table_words; i += block / 32)
    reinterpret_cast<unsigned*>(table)[32 * i + lane] = words[i];
}

// The word of four samples → the word of their entries; `table`: at the lane's own bank.
__device__ unsigned look_up(const std::uint8_t* table, unsigned samples) {
  unsigned out = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned sample = samples >> 8 * i & 255;
    out |= static_cast<unsigned>(table[sample / 4 * entry_group + sample % 4]) << 8 * i;
  }
  return out;
}

// How samples are read and written. `aligned`: 16 bytes at a time. `shifted`: words of the input are put together (a
// crop begins anywhere), 16 bytes written. `bytes`: one at a time.
enum class Access { aligned, shifted, bytes };

template <bool look, Access access>
__global__ void __launch_bounds__(block, resident)
    pointwise_kernel(const __grid_constant__ Job job, const __grid_constant__ Tables tables) {
  __shared__ __align__(16) std::uint8_t shared[look ? 2 * table_bytes : 16];
  if constexpr (look) {
    fill(tables.luma, shared);
    fill(tables.chroma, shared + table_bytes);
    __syncthreads();
  }
  const std::uint8_t* const bank = shared + threadIdx.x % 32 * 4;
  for (RowWalk at((job.row_bytes[1] + vector - 1) / vector); at.row < job.rows; at.advance()) {
    const int p = at.row >= job.luma_rows ? 1 : 0;
    const int y = at.row - (p == 0 ? 0 : job.luma_rows);
    const int x = at.column * vector;
    const std::uint8_t* in = job.in[p] + y * job.in_stride[p] + x;
    std::uint8_t* out = job.out[p] + y * job.out_stride[p] + x;
    const std::uint8_t* table = bank + (p == 0 ? 0 : table_bytes);
    if (access != Access::bytes && x + vector <= job.row_bytes[p]) {
      uint4 samples = access == Access::aligned ? *reinterpret_cast<const uint4*>(in) : load_anywhere(in);
      if constexpr (look) {
        samples = {look_up(table, samples.x), look_up(table, samples.y), look_up(table, samples.z),
                   look_up(table, samples.w)};
      }
      *reinterpret_cast<uint4*>(out) = samples;
    } else {
      const int count = min(vector, job.row_bytes[p] - x);
      for (int i = 0; i < count; ++i) out[i] = look ? table[in[i] / 4 * entry_group + in[i] % 4] : in[i];
    }
  }
}

template <bool look>
void launch(const Job& job, const Tables& tables, Access access, GpuStream stream) {
  const int columns = (job.row_bytes[1] + vector - 1) / vector;
  const unsigned grid = blocks_for(std::int64_t{columns} * job.rows, block, blocks_per_multiprocessor);
  switch (access) {
    case Access::aligned:
      pointwise_kernel<look, Access::aligned><<<grid, block, 0, stream>>>(job, tables);
      break;
    case Access::shifted:
      pointwise_kernel<look, Access::shifted><<<grid, block, 0, stream>>>(job, tables);
      break;
    case Access::bytes:
      pointwise_kernel<look, Access::bytes><<<grid, block, 0, stream>>>(job, tables);
      break;
  }
  check_launch("cannot run a point-wise filter");
}

bool changes_nothing(SampleTable table) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i] != i) return false;
  }
  return true;
}

Access access_of(const Job& job) {
  bool in = true;
  bool out = true;
  for (int p = 0; p < 2; ++p) {
    in = in && is_aligned(job.in[p], job.in_stride[p], vector);
    out = out && is_aligned(job.out[p], job.out_stride[p], vector);
  }
  return !out ? Access::bytes : in ? Access::aligned : Access::shifted;
}

}  // namespace

void enqueue_pointwise(const FrameView& in, const MutableFrameView& out, SampleTable luma, SampleTable chroma, int left,
                       int top, GpuStream stream) {
  const RowRange luma_rows = plane_rows(out, 0), chroma_rows = plane_rows(out, 1);
  // Two interleaved chroma samples stand for two luma samples, so that a column is as many bytes in both planes.
  const Job job{{in.data[0] + std::ptrdiff_t{top + luma_rows.begin} * in.stride[0] + left,
                 in.data[1] + std::ptrdiff_t{top / 2 + chroma_rows.begin} * in.stride[1] + left},
                {in.stride[0], in.stride[1]},
                {out.data[0] + std::ptrdiff_t{luma_rows.begin} * out.stride[0],
                 out.data[1] + std::ptrdiff_t{chroma_rows.begin} * out.stride[1]},
                {out.stride[0], out.stride[1]},
                {plane_size(out.format, 0).width, plane_size(out.format, 1).width},
                luma_rows.count(),
                luma_rows.count() + chroma_rows.count()};
  Tables tables;
  std::memcpy(tables.luma, luma.data(), luma.size());
  std::memcpy(tables.chroma, chroma.data(), chroma.size());
  if (changes_nothing(luma) && changes_nothing(chroma)) {
    launch<false>(job, tables, access_of(job), stream);
  } else {
    launch<true>(job, tables, access_of(job), stream);
  }
}

}  // namespace campipe
