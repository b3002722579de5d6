// A thread makes 4 × 4 samples of luma and the 2 × 2 of chroma that belong to them. The lens model is evaluated once,
// in the samples' middle, with its first and second derivatives; from there each sample's place is a quadratic
// polynomial away. What that leaves out is the third derivative over 2.5 samples: less than 0.003 samples, unless the
// focal length is that of a thumbnail; then the model is evaluated for each sample. Places are rounded to 256ths of a
// sample; what follows is integers.
//
// What bounds it are instructions and loads of single bytes, not memory. So where all samples of a thread come from
// inside the frame, which is asked once, they are loaded without a question, U and V together; and dot products of 16
// with 8 bits blend them. Keeping a part of the input in shared memory was slower, so were samples that lie side by
// side in a warp (2 × 8 a thread), and more or fewer warps changed nothing.
//
// Why not a table of places: it is 8 bytes a sample, four times what the frame itself moves.
#include <algorithm>

#include "kernels/launch.h"
#include "kernels/undistort.h"

namespace campipe {
namespace {

constexpr int side = 4;  // of a thread's samples of luma
const dim3 block(32, 4);

// The lens in single precision, with the quotients that the expansions take.
struct DeviceLens {
  float k1, k2, k3, p1, p2, cx, cy;
  float fx, fy, inverse_fx, inverse_fy, fx_by_fy, fy_by_fx;
};

struct Job {
  const std::uint8_t* in[2];
  int in_stride[2];
  std::uint8_t* out[2];
  int out_stride[2];
  RowRange in_rows[2];   // that are there
  RowRange out_rows[2];  // that are made
  int first_row;         // of a thread's block
  int end_row;
  float low[2];  // 256ths of a sample of luma across and down, up to `high`: all that is looked up is there
  float high[2];
  int width;
  int height;
  bool in_pairs;   // U and V may be read together
  bool out_words;  // out may be written in words
  unsigned black;
  DeviceLens lens;
};

// One coordinate of the input in 256ths of a sample, about the middle of a thread's block.
struct Expansion {
  float at, u, v, uu, uv, vv;  // the value and its derivatives, second ones of u and v halved

  __device__ float value(float du, float dv) const { return at + dv * (v + dv * vv) + du * (u + dv * uv + du * uu); }
};

struct Place {
  Expansion x;
  Expansion y;
};

constexpr double shortest_focal_length = 256;  // that is expanded

__device__ Place place_of(const DeviceLens& lens, float u, float v) {
  const float a = (u - lens.cx) * lens.inverse_fx;
  const float b = (v - lens.cy) * lens.inverse_fy;
  const float aa = a * a, ab = a * b, bb = b * b, r = aa + bb;
  // The radial factor, and its derivatives by r.
  const float q = r * (lens.k1 + r * (lens.k2 + r * lens.k3));
  const float q1 = lens.k1 + r * (2 * lens.k2 + r * (3 * lens.k3));
  const float q2 = 2 * lens.k2 + r * (6 * lens.k3);
  const float p1 = lens.p1, p2 = lens.p2;
  const float mixed = 2 * ab * q1;
  Place place;
  place.x.at = 256 * (u + lens.fx * (a * q + 2 * p1 * ab + p2 * (3 * aa + bb)));
  place.x.u = 256 * (1 + q + 2 * aa * q1 + 2 * p1 * b + 6 * p2 * a);
  place.x.v = 256 * lens.fx_by_fy * (mixed + 2 * p1 * a + 2 * p2 * b);
  place.x.uu = 256 * lens.inverse_fx * (a * (3 * q1 + 2 * aa * q2) + 3 * p2);
  place.x.uv = 256 * lens.inverse_fy * (b * (2 * q1 + 4 * aa * q2) + 2 * p1);
  place.x.vv = 256 * lens.fx_by_fy * lens.inverse_fy * (a * (q1 + 2 * bb * q2) + p2);
  place.y.at = 256 * (v + lens.fy * (b * q + 2 * p2 * ab + p1 * (3 * bb + aa)));
  place.y.u = 256 * lens.fy_by_fx * (mixed + 2 * p2 * b + 2 * p1 * a);
  place.y.v = 256 * (1 + q + 2 * bb * q1 + 2 * p2 * a + 6 * p1 * b);
  place.y.uu = 256 * lens.fy_by_fx * lens.inverse_fx * (b * (q1 + 2 * aa * q2) + p1);
  place.y.uv = 256 * lens.inverse_fx * (a * (2 * q1 + 4 * bb * q2) + 2 * p2);
  place.y.vv = 256 * lens.inverse_fy * (b * (3 * q1 + 2 * bb * q2) + 3 * p1);
  return place;
}

// A float that `rounding` was added to has its integer in the low bits, which is cheaper than a conversion; and
// whatever is out of range, or no number, comes out far outside of any frame.
constexpr float rounding = 12582912.0F;
constexpr unsigned bits_of_zero = 0x4B400000;

// Rounded to 256ths, with bits_of_zero added to each.
using PlaceBits = uint2;

__device__ PlaceBits luma_bits(float x, float y) {
  return {__float_as_uint(x + rounding), __float_as_uint(y + rounding)};
}

// A place of luma, in samples of chroma, whose first one lies half a sample of luma from the corner's middle.
__device__ PlaceBits chroma_bits(float x, float y) {
  return {__float_as_uint(0.5F * x + (rounding - 64)), __float_as_uint(0.5F * y + (rounding - 64))};
}

// The places about (u, v), a distance (du, dv) of samples away.
struct ExactPlaces {
  const Job& job;
  float u, v;

  __device__ PlaceBits luma(float du, float dv) const {
    const Place place = place_of(job.lens, u + du, v + dv);
    return luma_bits(place.x.at, place.y.at);
  }
  __device__ PlaceBits chroma(float du, float dv) const {
    const Place place = place_of(job.lens, u + du, v + dv);
    return chroma_bits(place.x.at, place.y.at);
  }
};

struct ExpandedPlaces {
  Place place;
  Place rounded;  // `rounding` is in `at`

  __device__ explicit ExpandedPlaces(const Place& middle) : place(middle), rounded(middle) {
    rounded.x.at += rounding;
    rounded.y.at += rounding;
  }
  __device__ PlaceBits luma(float du, float dv) const {
    return {__float_as_uint(rounded.x.value(du, dv)), __float_as_uint(rounded.y.value(du, dv))};
  }
  __device__ PlaceBits chroma(float du, float dv) const {
    return chroma_bits(place.x.value(du, dv), place.y.value(du, dv));
  }
};

// Of four samples about a place: upper left, upper right, lower left, lower right. The result is the third byte.
__device__ unsigned blend(unsigned quad, PlaceBits place) {
  const unsigned weights = (place.x & 255) * 65535 + 256;  // 256 less the fraction, and the fraction
  const unsigned upper = __dp2a_lo(weights, quad, 128U), lower = __dp2a_hi(weights, quad, 128U);
  return 256 * upper + (place.y & 255) * (lower - upper);
}

__device__ unsigned quad_of(unsigned a, unsigned b, unsigned c, unsigned d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

// The third bytes of four.
__device__ unsigned third_bytes(unsigned a, unsigned b, unsigned c, unsigned d) {
  return __byte_perm(__byte_perm(a, b, 0x0062), __byte_perm(c, d, 0x0062), 0x5410);
}

// A plane of `components` a position.
struct InPlane {
  const std::uint8_t* data;
  int stride;
  int width;  // in positions
  int height;
  RowRange rows;  // that are there
  unsigned black;
};

__device__ InPlane luma_of(const Job& job) {
  return {job.in[0], job.in_stride[0], job.width, job.height, job.in_rows[0], job.black};
}
__device__ InPlane chroma_of(const Job& job) {
  return {job.in[1], job.in_stride[1], (job.width + 1) / 2, (job.height + 1) / 2, job.in_rows[1], 128};
}

__device__ int column_of(PlaceBits place) { return static_cast<int>(place.x - bits_of_zero) >> 8; }
__device__ int row_of(PlaceBits place) { return static_cast<int>(place.y - bits_of_zero) >> 8; }

// Where the upper left of the four samples about a place lies, which is in the frame. Modulo 2^32; so bits_of_zero
// costs nothing but a constant.
template <int components>
__device__ const std::uint8_t* address_of(const InPlane& in, PlaceBits place) {
  const auto stride = static_cast<unsigned>(in.stride);
  return in.data +
         ((place.y >> 8) * stride + (place.x >> 8) * components - (bits_of_zero >> 8) * (stride + components));
}

// Component `c` at a place, wherever that is.
template <int components>
__device__ unsigned sample_anywhere(const InPlane& in, PlaceBits place, int c) {
  const int column = column_of(place), row = row_of(place);
  const auto at = [&](int i, int j) -> unsigned {
    const bool there = static_cast<unsigned>(i) < static_cast<unsigned>(in.width) &&
                       static_cast<unsigned>(j) < static_cast<unsigned>(in.height);
    const int row_there = min(max(j, in.rows.begin), in.rows.end - 1);  // j, but for rounding
    return there ? in.data[row_there * in.stride + i * components + c] : in.black;
  };
  return blend(quad_of(at(column, row), at(column + 1, row), at(column, row + 1), at(column + 1, row + 1)), place);
}

template <bool inside>
__device__ unsigned luma_sample(const InPlane& in, PlaceBits place) {
  if constexpr (inside) {
    const std::uint8_t* const p = address_of<1>(in, place);
    const std::uint8_t* const below = p + in.stride;
    return blend(quad_of(__ldg(p), __ldg(p + 1), __ldg(below), __ldg(below + 1)), place);
  } else {
    return sample_anywhere<1>(in, place, 0);
  }
}

// U and V.
template <bool inside>
__device__ uint2 chroma_sample(const InPlane& in, PlaceBits place) {
  if constexpr (inside) {
    const auto* const p = reinterpret_cast<const std::uint16_t*>(address_of<2>(in, place));
    const auto* const below =
        reinterpret_cast<const std::uint16_t*>(reinterpret_cast<const std::uint8_t*>(p) + in.stride);
    const unsigned upper = __byte_perm(__ldg(p), __ldg(p + 1), 0x5140);  // U, its neighbour; V, its neighbour
    const unsigned lower = __byte_perm(__ldg(below), __ldg(below + 1), 0x5140);
    return {blend(__byte_perm(upper, lower, 0x5410), place), blend(__byte_perm(upper, lower, 0x7632), place)};
  } else {
    return {sample_anywhere<2>(in, place, 0), sample_anywhere<2>(in, place, 1)};
  }
}

__device__ bool is_made(RowRange rows, int y) {
  return static_cast<unsigned>(y - rows.begin) < static_cast<unsigned>(rows.end - rows.begin);
}

// Four bytes of the output, from `byte` on.
__device__ void store(const Job& job, int plane, int row_bytes, int byte, int row, unsigned word) {
  if (!is_made(job.out_rows[plane], row)) return;
  std::uint8_t* const out = job.out[plane] + (row * job.out_stride[plane] + byte);
  if (job.out_words && byte + 4 <= row_bytes) {
    *reinterpret_cast<unsigned*>(out) = word;
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (byte + i < row_bytes) out[i] = static_cast<std::uint8_t>(word >> 8 * i);
  }
}

// `places`: about the middle of the thread's samples.
template <bool inside, typename Places>
__device__ void make_samples(const Job& job, int x0, int y0, const Places& places) {
  const InPlane luma = luma_of(job), chroma = chroma_of(job);
#pragma unroll
  for (int row = 0; row < side; ++row) {
    unsigned samples[side];
#pragma unroll
    for (int i = 0; i < side; ++i) {
      samples[i] = luma_sample<inside>(luma, places.luma(static_cast<float>(i) - 1.5F, static_cast<float>(row) - 1.5F));
    }
    store(job, 0, luma.width, x0, y0 + row, third_bytes(samples[0], samples[1], samples[2], samples[3]));
  }
#pragma unroll
  for (int row = 0; row < side / 2; ++row) {
    const float dv = static_cast<float>(2 * row) - 1.0F;
    const uint2 left = chroma_sample<inside>(chroma, places.chroma(-1, dv));
    const uint2 right = chroma_sample<inside>(chroma, places.chroma(1, dv));
    store(job, 1, 2 * chroma.width, x0, y0 / 2 + row, third_bytes(left.x, left.y, right.x, right.y));
  }
}

// Whether all of a thread's places lie in these bounds. Not if they are no numbers.
__device__ bool lies_inside(const Expansion& e, float low, float high) {
  const float reach = 1.5F * (fabsf(e.u) + fabsf(e.v)) + 2.25F * (fabsf(e.uu) + fabsf(e.uv) + fabsf(e.vv));
  return e.at - reach >= low && e.at + reach <= high;
}

template <bool exact>
__global__ void __launch_bounds__(128) undistort_kernel(const __grid_constant__ Job job) {
  const int x0 = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * side;
  const int y0 = job.first_row + static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y) * side;
  if (x0 >= job.width || y0 >= job.end_row) return;
  const float u = static_cast<float>(x0) + 1.5F, v = static_cast<float>(y0) + 1.5F;
  if constexpr (exact) {
    make_samples<false>(job, x0, y0, ExactPlaces{job, u, v});
  } else {
    const Place middle = place_of(job.lens, u, v);
    const ExpandedPlaces places(middle);
    if (job.in_pairs && lies_inside(middle.x, job.low[0], job.high[0]) &&
        lies_inside(middle.y, job.low[1], job.high[1])) {
      make_samples<true>(job, x0, y0, places);
    } else {
      make_samples<false>(job, x0, y0, places);
    }
  }
}

// Between the first and the last sample that is there, in 256ths of a sample of luma; those of chroma, which are half a
// sample of chroma further out, and a rounding included.
void set_bounds(RowRange luma, RowRange chroma, float& low, float& high) {
  low = 256.0F * static_cast<float>(std::max(luma.begin, 2 * chroma.begin) + 1);
  high = 256.0F * static_cast<float>(std::min(luma.end & ~1, 2 * chroma.end) - 2);
}

Job make_job(const FrameView& in, const MutableFrameView& out, const Lens& lens, std::uint8_t black) {
  Job job{};
  job.in_pairs = is_aligned(in.data[1], in.stride[1], sizeof(std::uint16_t));
  job.out_words = true;
  for (int p = 0; p < 2; ++p) {
    const auto i = static_cast<std::size_t>(p);
    job.in[p] = in.data[i];
    job.in_stride[p] = in.stride[i];
    job.out[p] = out.data[i];
    job.out_stride[p] = out.stride[i];
    job.out_words = job.out_words && is_aligned(out.data[i], out.stride[i], sizeof(unsigned));
    job.in_rows[p] = plane_rows(in, p);
    job.out_rows[p] = plane_rows(out, p);
  }
  const auto [luma, chroma] = job.out_rows;
  job.first_row = std::min(luma.begin, 2 * chroma.begin) / side * side;  // blocks are the whole frame's
  job.end_row = std::max(luma.end, 2 * chroma.end);
  set_bounds({0, in.format.width}, {0, (in.format.width + 1) / 2}, job.low[0], job.high[0]);
  set_bounds(job.in_rows[0], job.in_rows[1], job.low[1], job.high[1]);
  job.width = in.format.width;
  job.height = in.format.height;
  job.black = black;
  job.lens.k1 = static_cast<float>(lens.k1);
  job.lens.k2 = static_cast<float>(lens.k2);
  job.lens.k3 = static_cast<float>(lens.k3);
  job.lens.p1 = static_cast<float>(lens.p1);
  job.lens.p2 = static_cast<float>(lens.p2);
  job.lens.cx = static_cast<float>(lens.cx);
  job.lens.cy = static_cast<float>(lens.cy);
  job.lens.fx = static_cast<float>(lens.fx);
  job.lens.fy = static_cast<float>(lens.fy);
  job.lens.inverse_fx = static_cast<float>(1 / lens.fx);
  job.lens.inverse_fy = static_cast<float>(1 / lens.fy);
  job.lens.fx_by_fy = static_cast<float>(lens.fx / lens.fy);
  job.lens.fy_by_fx = static_cast<float>(lens.fy / lens.fx);
  return job;
}

}  // namespace

void enqueue_undistort(const FrameView& in, const MutableFrameView& out, const Lens& lens, std::uint8_t black,
                       GpuStream stream) {
  const Job job = make_job(in, out, lens, black);
  const auto blocks = [](int samples, unsigned a_block) {
    return (static_cast<unsigned>(samples) + a_block - 1) / a_block;
  };
  const dim3 grid(blocks(job.width, block.x * side), blocks(job.end_row - job.first_row, block.y * side));
  if (std::min(lens.fx, lens.fy) < shortest_focal_length) {
    undistort_kernel<true><<<grid, block, 0, stream>>>(job);
  } else {
    undistort_kernel<false><<<grid, block, 0, stream>>>(job);
  }
  check_launch("cannot take out a lens's distortion");
}

}  // namespace campipe
