// A thread makes 4 × 2 samples of luma and the 2 × 1 of chroma that belong to them. The lens model is evaluated once,
// in the block's middle, with its first and second derivatives; from there each sample's place is a quadratic
// polynomial away. What that leaves out is the third derivative over 1.5 samples: less than 0.001 samples, unless the
// focal length is that of a thumbnail; then the model is evaluated for each sample. Places are rounded to 256ths of a
// sample; what follows is whole numbers.
//
// Why not a table of places: it is 8 bytes a sample, four times what the picture itself moves.
#include "kernels/launch.h"
#include "kernels/undistort.h"

namespace campipe {
namespace {

constexpr int across = 4;  // samples of luma a thread
constexpr int down = 2;
const dim3 block(32, 8);

struct Job {
  const std::uint8_t* in[2];
  int in_stride[2];
  std::uint8_t* out[2];
  int out_stride[2];
  int width;
  int height;
  bool words;  // out may be written in words
  unsigned black;
  float k1, k2, k3, p1, p2, cx, cy;
  float fx, fy, inverse_fx, inverse_fy, fx_by_fy, fy_by_fx;
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

__device__ Place place_of(const Job& lens, float u, float v) {
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

// The places that the samples about (u, v) have in the input.
template <bool exact>
class Places {
 public:
  __device__ Places(const Job& job, float u, float v) : job_(job), u_(u), v_(v), middle_(place_of(job, u, v)) {}
  // In 256ths of a sample.
  __device__ float2 at(float du, float dv) const {
    if constexpr (exact) {
      const Place place = place_of(job_, u_ + du, v_ + dv);
      return {place.x.at, place.y.at};
    }
    return {middle_.x.value(du, dv), middle_.y.value(du, dv)};
  }

 private:
  const Job& job_;
  float u_;
  float v_;
  Place middle_;
};

// Rounded. Cheaper than a conversion; and whatever is out of its range, or no number, comes out far outside of any
// picture.
__device__ int to_int(float value) { return __float_as_int(value + 12582912.0F) - 0x4B400000; }

// Four samples about a place, in two halves of a word each: the upper row's below, the lower row's above.
__device__ unsigned blend(unsigned left, unsigned right, int x, int y) {
  const unsigned fx = static_cast<unsigned>(x) & 255;
  const unsigned fy = static_cast<unsigned>(y) & 255;
  const unsigned rows = left * (256 - fx) + right * fx;
  return ((rows & 0xffff) * (256 - fy) + (rows >> 16) * fy + 32768) >> 16;
}

struct Component {
  const std::uint8_t* data;
  int stride;
  int width;  // in positions, `step` bytes apart
  int height;
  int step;
  unsigned black;
};

// All four samples lie in the picture.
__device__ bool inside(int x, int y, int width, int height) {
  return static_cast<unsigned>(x >> 8) < static_cast<unsigned>(width - 1) &&
         static_cast<unsigned>(y >> 8) < static_cast<unsigned>(height - 1);
}

__device__ unsigned sample_inside(const Component& in, int x, int y) {
  const std::uint8_t* const p = in.data + ((y >> 8) * in.stride + (x >> 8) * in.step);
  const std::uint8_t* const below = p + in.stride;
  return blend(p[0] | static_cast<unsigned>(below[0]) << 16, p[in.step] | static_cast<unsigned>(below[in.step]) << 16,
               x, y);
}

__device__ unsigned sample_anywhere(const Component& in, int x, int y) {
  const auto at = [&](int column, int row) -> unsigned {
    const bool there = static_cast<unsigned>(column) < static_cast<unsigned>(in.width) &&
                       static_cast<unsigned>(row) < static_cast<unsigned>(in.height);
    return there ? in.data[row * in.stride + column * in.step] : in.black;
  };
  const int column = x >> 8, row = y >> 8;
  return blend(at(column, row) | at(column, row + 1) << 16, at(column + 1, row) | at(column + 1, row + 1) << 16, x, y);
}

__device__ void store(std::uint8_t* out, const unsigned (&samples)[4], int count, bool words) {
  if (words && count >= 4) {
    *reinterpret_cast<unsigned*>(out) = samples[0] | samples[1] << 8 | samples[2] << 16 | samples[3] << 24;
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i < count) out[i] = static_cast<std::uint8_t>(samples[i]);
  }
}

template <bool exact>
__device__ void make_luma(const Job& job, const Places<exact>& places, int x0, int y, float dv) {
  const Component in{job.in[0], job.in_stride[0], job.width, job.height, 1, job.black};
  int x[across], y_at[across];
  bool all_inside = true;
#pragma unroll
  for (int i = 0; i < across; ++i) {
    const float2 place = places.at(static_cast<float>(i) - 1.5F, dv);
    x[i] = to_int(place.x);
    y_at[i] = to_int(place.y);
    all_inside = all_inside && inside(x[i], y_at[i], in.width, in.height);
  }
  unsigned samples[across];
  if (all_inside) {
#pragma unroll
    for (int i = 0; i < across; ++i) samples[i] = sample_inside(in, x[i], y_at[i]);
  } else {
#pragma unroll
    for (int i = 0; i < across; ++i) samples[i] = sample_anywhere(in, x[i], y_at[i]);
  }
  store(job.out[0] + (y * job.out_stride[0] + x0), samples, job.width - x0, job.words);
}

template <bool exact>
__device__ void make_chroma(const Job& job, const Places<exact>& places, int x0, int y) {
  const int width = (job.width + 1) / 2;
  Component in{job.in[1], job.in_stride[1], width, (job.height + 1) / 2, 2, 128};
  unsigned samples[4];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    // A place of luma, in samples of chroma, whose first one lies half a sample of luma from the corner's middle.
    const float2 place = places.at(static_cast<float>(2 * i) - 1.0F, 0);
    const int x = to_int(0.5F * place.x - 64);
    const int y_at = to_int(0.5F * place.y - 64);
    const bool all_inside = inside(x, y_at, in.width, in.height);
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      in.data = job.in[1] + c;
      samples[2 * i + c] = all_inside ? sample_inside(in, x, y_at) : sample_anywhere(in, x, y_at);
    }
  }
  store(job.out[1] + (y * job.out_stride[1] + x0), samples, 2 * width - x0, job.words);
}

template <bool exact>
__global__ void __launch_bounds__(256) undistort_kernel(const __grid_constant__ Job job) {
  const int x0 = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * across;
  const int y0 = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y) * down;
  if (x0 >= job.width || y0 >= job.height) return;
  const Places<exact> places(job, static_cast<float>(x0) + 1.5F, static_cast<float>(y0) + 0.5F);
  make_luma(job, places, x0, y0, -0.5F);
  if (y0 + 1 < job.height) make_luma(job, places, x0, y0 + 1, 0.5F);
  make_chroma(job, places, x0, y0 / 2);
}

Job make_job(const FrameView& in, const MutableFrameView& out, const Lens& lens, std::uint8_t black) {
  Job job{};
  job.words = true;
  for (int p = 0; p < 2; ++p) {
    const auto i = static_cast<std::size_t>(p);
    job.in[p] = in.data[i];
    job.in_stride[p] = in.stride[i];
    job.out[p] = out.data[i];
    job.out_stride[p] = out.stride[i];
    job.words = job.words && is_aligned(out.data[i], out.stride[i], sizeof(unsigned));
  }
  job.width = in.format.width;
  job.height = in.format.height;
  job.black = black;
  job.k1 = static_cast<float>(lens.k1);
  job.k2 = static_cast<float>(lens.k2);
  job.k3 = static_cast<float>(lens.k3);
  job.p1 = static_cast<float>(lens.p1);
  job.p2 = static_cast<float>(lens.p2);
  job.cx = static_cast<float>(lens.cx);
  job.cy = static_cast<float>(lens.cy);
  job.fx = static_cast<float>(lens.fx);
  job.fy = static_cast<float>(lens.fy);
  job.inverse_fx = static_cast<float>(1 / lens.fx);
  job.inverse_fy = static_cast<float>(1 / lens.fy);
  job.fx_by_fy = static_cast<float>(lens.fx / lens.fy);
  job.fy_by_fx = static_cast<float>(lens.fy / lens.fx);
  return job;
}

}  // namespace

void enqueue_undistort(const FrameView& in, const MutableFrameView& out, const Lens& lens, std::uint8_t black,
                       GpuStream stream) {
  const Job job = make_job(in, out, lens, black);
  const auto blocks = [](int samples, unsigned a_block) {
    return (static_cast<unsigned>(samples) + a_block - 1) / a_block;
  };
  const dim3 grid(blocks(job.width, block.x * across), blocks(job.height, block.y * down));
  if (std::min(lens.fx, lens.fy) < shortest_focal_length) {
    undistort_kernel<true><<<grid, block, 0, stream>>>(job);
  } else {
    undistort_kernel<false><<<grid, block, 0, stream>>>(job);
  }
  check_launch("cannot take out a lens's distortion");
}

}  // namespace campipe
