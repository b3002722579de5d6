// Tiles of planes as operands of tensor cores (see bands.h): a block loads its tile into shared memory, as 16-bit
// floats, U and V apart; each of its warps makes blocks of 16 × 16 outputs.
#pragma once

#include "kernels/planes.cuh"

namespace campipe {

// In shared memory: `rows` rows, `pitch` cells apart, with `columns` cells of each component. A cell is a sample, or
// where the frame is halved the sum of 2 × 2. The pitch is an odd number of 16 bytes, so that 8 rows of 16 bytes
// lie in different banks.
struct Tile {
  std::uint16_t* cells;
  int rows;
  int columns;  // a multiple of 16
  int pitch;
};

__host__ __device__ constexpr int tile_pitch(int columns, int components) { return columns * components + 8; }

// Widening: with zeros between the bytes they are 16-bit floats.
template <int components>
__device__ void put_unit(const Tile& tile, int row, int index, uint2 bytes) {
  std::uint16_t* const to = tile.cells + row * tile.pitch;
  if constexpr (components == 1) {
    *reinterpret_cast<uint4*>(to + 8 * index) = {__byte_perm(bytes.x, 0, 0x4140), __byte_perm(bytes.x, 0, 0x4342),
                                                 __byte_perm(bytes.y, 0, 0x4140), __byte_perm(bytes.y, 0, 0x4342)};
  } else {
    *reinterpret_cast<uint2*>(to + 4 * index) = {__byte_perm(bytes.x, 0, 0x4240), __byte_perm(bytes.y, 0, 0x4240)};
    *reinterpret_cast<uint2*>(to + tile.columns + 4 * index) = {__byte_perm(bytes.x, 0, 0x4341),
                                                                __byte_perm(bytes.y, 0, 0x4341)};
  }
}

__device__ inline unsigned even_bytes(unsigned bytes) { return bytes & 0x00ff00ff; }
__device__ inline unsigned odd_bytes(unsigned bytes) { return __byte_perm(bytes, 0, 0x4341); }

// Neighbours in (a's low, a's high, b's low, b's high) added up.
__device__ inline unsigned add_neighbours(unsigned a, unsigned b) {
  return __byte_perm(a, b, 0x5410) + __byte_perm(a, b, 0x7632);
}

template <int components>
__device__ void put_unit_halved(const Tile& tile, int row, int index, uint2 upper, uint2 lower) {
  std::uint16_t* const to = tile.cells + row * tile.pitch;
  const unsigned even_x = even_bytes(upper.x) + even_bytes(lower.x), odd_x = odd_bytes(upper.x) + odd_bytes(lower.x);
  const unsigned even_y = even_bytes(upper.y) + even_bytes(lower.y), odd_y = odd_bytes(upper.y) + odd_bytes(lower.y);
  if constexpr (components == 1) {
    *reinterpret_cast<uint2*>(to + 4 * index) = {even_x + odd_x, even_y + odd_y};
  } else {
    *reinterpret_cast<unsigned*>(to + 2 * index) = add_neighbours(even_x, even_y);
    *reinterpret_cast<unsigned*>(to + tile.columns + 2 * index) = add_neighbours(odd_x, odd_y);
  }
}

// What a tile has where it reaches beyond the plane: the plane mirrored, or anything at all.
enum class Beyond { mirrored, anything };

template <int components, bool halved>
__device__ void put_units(const Tile& tile, int row, int index, const uint2* bytes) {
  if constexpr (halved)
    put_unit_halved<components>(tile, row, index, bytes[0], bytes[1]);
  else
    put_unit<components>(tile, row, index, bytes[0]);
}

// Fills the tile with what begins at `x` (in bytes, a multiple of 8) and `y`, both of which may lie outside of `in`.
// By all `threads` of the block, at least as many as a row of the tile has units; they must meet before they read it.
// Each keeps to its column, so that little is left to do for a unit. `batch` of them are on their way at once.
template <int components, bool halved, Beyond beyond, int threads, int batch>
__device__ void load_tile(const InPlane& in, int x, int y, const Tile& tile) {
  constexpr int scale = halved ? 2 : 1;
  const int units = tile.columns * components * scale / unit;  // a row
  const int step = threads / units;
  const int index = static_cast<int>(threadIdx.x) % units;
  const int from = x + index * unit;
  int row = static_cast<int>(threadIdx.x) / units;
  if (row >= step) return;
  if (!in.units) {
    for (; row < tile.rows; row += step) {
      uint2 bytes[scale];
      for (int k = 0; k < scale; ++k)
        bytes[k] = gather_unit<components>(row_at(in, row_there(in, mirrored(y + row * scale + k, in.height))),
                                           in.width, from);
      put_units<components, halved>(tile, row, index, bytes);
    }
    return;
  }
  const auto row_of = [&](int r) {
    return row_at(in, beyond == Beyond::mirrored ? row_mirrored_once(in, y + r) : row_there(in, y + r));
  };
  const bool in_row = from >= 0 && from < in.row_bytes;
  const bool whole = from >= 0 && from + unit <= in.row_bytes;
  for (; row < tile.rows; row += batch * step) {
    uint2 bytes[batch][scale];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
#pragma unroll
      for (int k = 0; k < scale; ++k) {
        bytes[i][k] = {0, 0};
        if (in_row && row + i * step < tile.rows) bytes[i][k] = load_unit(row_of((row + i * step) * scale + k) + from);
      }
    }
    if (beyond == Beyond::mirrored && !whole) {
#pragma unroll
      for (int i = 0; i < batch; ++i) {
#pragma unroll
        for (int k = 0; k < scale; ++k)
          bytes[i][k] = mirror_unit<components>(in, row_of((row + i * step) * scale + k), from, bytes[i][k]);
      }
    }
#pragma unroll
    for (int i = 0; i < batch; ++i)
      if (row + i * step < tile.rows) put_units<components, halved>(tile, row + i * step, index, bytes[i]);
  }
}

// Right operands for the cells of 16 rows and 16 columns: words 0, 1 for the first 8 columns, 2, 3 for the others.
__device__ inline uint4 read_cells(const Tile& tile, int row, int column) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::uint16_t* const from = tile.cells + (row + lane % 16) * tile.pitch + column + lane / 16 * 8;
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(from));
  uint4 cells;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(cells.x), "=r"(cells.y), "=r"(cells.z), "=r"(cells.w)
               : "r"(address)
               : "memory");
  return cells;
}

// 16 rows by 8 columns after D, as the next instruction's left operand takes them; two side by side are 16 inputs.
struct Halfway {
  unsigned upper;
  unsigned lower;
};
// What D starts from: samples are then -128 to 127, which 16 bits resolve twice as finely as 0 to 255.
inline constexpr unsigned halfway_start = 0xa800a800;         // twice -128 · 2^-12
inline constexpr unsigned halfway_start_halved = 0xac00ac00;  // twice -256 · 2^-12

__device__ inline void multiply_down(Halfway& sum, uint4 weights, unsigned first, unsigned second) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
      : "+r"(sum.upper), "+r"(sum.lower)
      : "r"(weights.x), "r"(weights.y), "r"(weights.z), "r"(weights.w), "r"(first), "r"(second));
#else
  asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%6}, {%0, %1};\n"
      "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%4, %5}, {%7}, {%0, %1};"
      : "+r"(sum.upper), "+r"(sum.lower)
      : "r"(weights.x), "r"(weights.y), "r"(weights.z), "r"(weights.w), "r"(first), "r"(second));
#endif
}

// 16 rows by 16 columns of the output, as bands.h orders them.
struct Sums {
  float tile[2][4];

  __device__ Sums() {
    for (auto& sums : tile)
      for (float& sum : sums) sum = 128.5F;  // halfway, 128 was taken away; and for rounding
  }
};

__device__ inline void multiply_across(float (&sum)[4], Halfway left, Halfway right, unsigned first, unsigned second) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(left.upper), "r"(left.lower), "r"(right.upper), "r"(right.lower), "r"(first), "r"(second));
#else
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%8}, {%0, %1, %2, %3};\n"
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%6, %7}, {%9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(left.upper), "r"(left.lower), "r"(right.upper), "r"(right.lower), "r"(first), "r"(second));
#endif
}

__device__ inline void multiply_across(Sums& sums, Halfway left, Halfway right, uint4 weights) {
  multiply_across(sums.tile[0], left, right, weights.x, weights.y);
  multiply_across(sums.tile[1], left, right, weights.z, weights.w);
}

// 0 to 255.99… each → four bytes. 2^15 more, a float has 8 bits behind the point: its second byte is the whole part.
__device__ inline unsigned pack(float a, float b, float c, float d) {
  const auto fixed = [](float value) { return __float_as_uint(value + 32768.0F); };
  return __byte_perm(__byte_perm(fixed(a), fixed(b), 0x0051), __byte_perm(fixed(c), fixed(d), 0x0051), 0x5410);
}

// 32 bytes of row `y` of `out`: each lane of four has a word of the first 16 bytes and one of the others. They are
// exchanged, so that all 32 bytes are written at once. `whole`: there are units, and all of them are in the row.
__device__ inline void store_32(const OutPlane& out, int x, int y, bool whole, unsigned first, unsigned second) {
  const int lane = static_cast<int>(threadIdx.x % 4);
  const bool odd = lane % 2 != 0;
  const unsigned other = __shfl_xor_sync(0xffffffff, odd ? first : second, 1);
  const uint2 bytes = odd ? uint2{other, second} : uint2{first, other};
  const int at = x + (odd ? 16 : 0) + lane / 2 * 8;
  // Leaving at once where the row is not made costs the blur 8 % on an H200: lanes then meet again after each store.
  if (!whole) {
    if (is_made(out, y)) store_unit(out, at, y, bytes);
  } else if (is_made(out, y)) {
    *reinterpret_cast<uint2*>(out.data + static_cast<std::ptrdiff_t>(y) * out.stride + at) = bytes;
  }
}

// Two blocks of 16 × 16 outputs, at `x` (in bytes) and `y`: of one component side by side, or of U and V.
template <int components>
__device__ void store_blocks(const OutPlane& out, int x, int y, bool whole, const Sums& a, const Sums& b) {
  const int row = y + static_cast<int>(threadIdx.x % 32 / 4);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int i = 2 * half;
    if constexpr (components == 1) {
      store_32(out, x, row + 8 * half, whole, pack(a.tile[0][i], a.tile[0][i + 1], a.tile[1][i], a.tile[1][i + 1]),
               pack(b.tile[0][i], b.tile[0][i + 1], b.tile[1][i], b.tile[1][i + 1]));
    } else {
      store_32(out, x, row + 8 * half, whole, pack(a.tile[0][i], b.tile[0][i], a.tile[0][i + 1], b.tile[0][i + 1]),
               pack(a.tile[1][i], b.tile[1][i], a.tile[1][i + 1], b.tile[1][i + 1]));
    }
  }
}

}  // namespace campipe
