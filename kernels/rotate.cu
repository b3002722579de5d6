#include "kernels/rotate.h"

#include "kernels/launch.h"
#include "kernels/planes.cuh"
#include "kernels/row_walk.cuh"

namespace campipe {
namespace {

constexpr int block = 256;
constexpr int blocks_per_multiprocessor = 8;

// --- A quarter turn: rows become columns. Read or written from the last row upwards, that is either of the two. ---

struct Rows {
  std::uint8_t* data;  // of the first row
  std::ptrdiff_t stride;
  int row_bytes;
  RowRange rows;
  bool words;  // rows are aligned to words
};

struct Quarter {
  Rows in;
  Rows out;
  int first_tile;  // across, of `in`
  int tiles_across;
};

struct Quarters {
  Quarter planes[2];
  int luma_tiles;
};

// A tile has so many bytes in a row, of the input and of the output; a word of it is a word in both.
constexpr int tile_words = 16;
constexpr int tile_bytes = 4 * tile_words;

__device__ unsigned load_word(const Rows& in, int x, int y) {
  if (y >= in.rows.end || x >= in.row_bytes) return 0;
  const std::uint8_t* const from = in.data + y * in.stride + x;
  if (in.words && x + 4 <= in.row_bytes) return __ldg(reinterpret_cast<const unsigned*>(from));
  unsigned word = 0;
  for (int i = 0; i < 4 && x + i < in.row_bytes; ++i) word |= static_cast<unsigned>(from[i]) << 8 * i;
  return word;
}

__device__ void store_word(const Rows& out, int x, int y, unsigned word) {
  if (y < out.rows.begin || y >= out.rows.end || x >= out.row_bytes) return;
  std::uint8_t* const to = out.data + y * out.stride + x;
  if (out.words && x + 4 <= out.row_bytes) {
    *reinterpret_cast<unsigned*>(to) = word;
    return;
  }
  for (int i = 0; i < 4 && x + i < out.row_bytes; ++i) to[i] = static_cast<std::uint8_t>(word >> 8 * i);
}

// Words of rows → words of columns: four times four samples, or twice two pairs.
__device__ void transpose(unsigned (&words)[4]) {
  const unsigned a = __byte_perm(words[0], words[1], 0x5140), b = __byte_perm(words[2], words[3], 0x5140);
  const unsigned c = __byte_perm(words[0], words[1], 0x7362), d = __byte_perm(words[2], words[3], 0x7362);
  words[0] = __byte_perm(a, b, 0x5410);
  words[1] = __byte_perm(a, b, 0x7632);
  words[2] = __byte_perm(c, d, 0x5410);
  words[3] = __byte_perm(c, d, 0x7632);
}
__device__ void transpose(unsigned (&words)[2]) {
  const unsigned a = __byte_perm(words[0], words[1], 0x5410);
  words[1] = __byte_perm(words[0], words[1], 0x7632);
  words[0] = a;
}

using TileCells = unsigned[tile_bytes][tile_words + 1];  // as they are in the output; one more, for other banks

template <int components>
__device__ void turn_tile(const Quarter& job, int tile, TileCells& cells) {
  constexpr int per_word = 4 / components;
  constexpr int size = tile_words * per_word;  // in positions, across and down
  const int column = (job.first_tile + tile % job.tiles_across) * size, row = tile / job.tiles_across * size;
  const int word = static_cast<int>(threadIdx.x) % tile_words, group = static_cast<int>(threadIdx.x) / tile_words;
  unsigned words[per_word];
#pragma unroll
  for (int i = 0; i < per_word; ++i)
    words[i] = load_word(job.in, column * components + 4 * word, row + group * per_word + i);
  transpose(words);
#pragma unroll
  for (int i = 0; i < per_word; ++i) cells[word * per_word + i][group] = words[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < per_word; ++i) {
    const int of_tile = group * per_word + i;
    store_word(job.out, row * components + 4 * word, column + of_tile, cells[of_tile][word]);
  }
}

__global__ void __launch_bounds__(block) quarter_kernel(const __grid_constant__ Quarters job) {
  __shared__ TileCells cells;
  const int tile = static_cast<int>(blockIdx.x);
  if (tile < job.luma_tiles)
    turn_tile<1>(job.planes[0], tile, cells);
  else
    turn_tile<2>(job.planes[1], tile - job.luma_tiles, cells);
}

template <typename Byte>
Rows rows_of(const BasicFrameView<Byte>& view, int plane, bool upwards) {
  const auto i = static_cast<std::size_t>(plane);
  const PlaneSize size = plane_size(view.format, plane);
  const RowRange rows = plane_rows(view, plane);
  const std::ptrdiff_t stride = view.stride[i];
  auto* const data = const_cast<std::uint8_t*>(view.data[i]);
  const bool words = is_aligned(data, stride, 4);
  if (!upwards) return {data, stride, size.width, rows, words};
  const RowRange from_below{size.height - rows.end, size.height - rows.begin};
  return {data + (size.height - 1) * stride, -stride, size.width, from_below, words};
}

void launch_quarter(const FrameView& in, const MutableFrameView& out, const Turn& turn, GpuStream stream) {
  Quarters job{};
  int tiles = 0;
  for (int i = 0; i < 2; ++i) {
    Quarter& plane = job.planes[i];
    plane = {rows_of(in, i, (turn.angle == 90) != turn.mirrored), rows_of(out, i, turn.angle == 270), 0, 0};
    const int size = tile_bytes / (i + 1);  // in positions: columns of the input, rows of the output
    plane.first_tile = plane.out.rows.begin / size;
    plane.tiles_across = ceil_divide(plane.out.rows.end, size) - plane.first_tile;
    tiles += plane.tiles_across * ceil_divide(plane.out.row_bytes, tile_bytes);
    if (i == 0) job.luma_tiles = tiles;
  }
  quarter_kernel<<<static_cast<unsigned>(tiles), block, 0, stream>>>(job);
}

// --- A half turn: all the other way round; mirrored, or upside down alone: rows or their samples are ---

constexpr int vector = 16;

struct Half {
  InPlane in[2];
  OutPlane out[2];
  bool vectors;      // of the output
  bool upside_down;  // rows
  bool reversed;     // the samples of each
  int columns;  // vectors of a row, as many in both planes: two interleaved chroma samples stand for two luma samples
  int luma_rows;
  int rows;  // of both planes, that are made
};

template <int components>
__device__ void turn_vector(const Half& job, const InPlane& in, const OutPlane& out, int x, int y) {
  constexpr unsigned opposite = components == 1 ? 0x0123 : 0x1032;
  const std::uint8_t* const row = row_at(in, job.upside_down ? in.height - 1 - y : y);
  std::uint8_t* const to = out.data + static_cast<std::ptrdiff_t>(y) * out.stride + x;
  const bool whole = job.vectors && x + vector <= out.row_bytes;
  if (!job.reversed) {
    if (whole) {
      *reinterpret_cast<uint4*>(to) = load_anywhere(row + x);
    } else {
      for (int i = 0; i < vector && x + i < out.row_bytes; ++i) to[i] = row[x + i];
    }
    return;
  }
  if (whole) {
    const uint4 found = load_anywhere(row + in.row_bytes - x - vector);
    *reinterpret_cast<uint4*>(to) = {__byte_perm(found.w, 0, opposite), __byte_perm(found.z, 0, opposite),
                                     __byte_perm(found.y, 0, opposite), __byte_perm(found.x, 0, opposite)};
    return;
  }
  for (int i = 0; i < vector && x + i < out.row_bytes; ++i) {
    const int position = in.width - 1 - (x + i) / components;
    to[i] = row[position * components + i % components];
  }
}

__global__ void __launch_bounds__(block) half_kernel(const __grid_constant__ Half job) {
  for (RowWalk at(job.columns); at.row < job.rows; at.advance()) {
    const int x = at.column * vector, chroma_row = at.row - job.luma_rows;
    if (chroma_row < 0)
      turn_vector<1>(job, job.in[0], job.out[0], x, job.out[0].rows.begin + at.row);
    else
      turn_vector<2>(job, job.in[1], job.out[1], x, job.out[1].rows.begin + chroma_row);
  }
}

void launch_half(const FrameView& in, const MutableFrameView& out, const Turn& turn, GpuStream stream) {
  Half job{{plane_span(in, 0), plane_span(in, 1)}, {plane_span(out, 0), plane_span(out, 1)}};
  job.vectors = true;
  job.upside_down = turn.angle == 180;
  job.reversed = (turn.angle == 180) != turn.mirrored;
  for (const OutPlane& plane : job.out) job.vectors = job.vectors && is_aligned(plane.data, plane.stride, vector);
  job.columns = ceil_divide(job.in[1].row_bytes, vector);
  job.luma_rows = job.out[0].rows.count();
  job.rows = job.luma_rows + job.out[1].rows.count();
  const unsigned grid = blocks_for(std::int64_t{job.columns} * job.rows, block, blocks_per_multiprocessor);
  half_kernel<<<grid, block, 0, stream>>>(job);
}

}  // namespace

void enqueue_rotate(const FrameView& in, const MutableFrameView& out, const Turn& turn, GpuStream stream) {
  if (turn.is_quarter())
    launch_quarter(in, out, turn, stream);
  else
    launch_half(in, out, turn, stream);
  check_launch("cannot rotate");
}

}  // namespace campipe
