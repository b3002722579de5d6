#include "kernels/launch.h"
#include "kernels/row_walk.cuh"
#include "kernels/transfer.h"

namespace campipe {
namespace {

constexpr int block = 256;
constexpr int blocks_per_multiprocessor = 8;

struct Interleave {
  const std::uint8_t* u;
  const std::uint8_t* v;
  std::ptrdiff_t in_stride;
  std::uint8_t* out;
  std::ptrdiff_t out_stride;
  int width;  // in pairs
  int height;
};

// `Vector` pairs at a time where everything is aligned to as many bytes, else one.
template <int Vector>
__global__ void __launch_bounds__(block) interleave_kernel(const __grid_constant__ Interleave job) {
  for (RowWalk at((job.width + Vector - 1) / Vector); at.row < job.height; at.advance()) {
    const int x = at.column * Vector;
    const std::uint8_t* u = job.u + at.row * job.in_stride + x;
    const std::uint8_t* v = job.v + at.row * job.in_stride + x;
    std::uint8_t* out = job.out + at.row * job.out_stride + 2 * x;
    if (Vector == 8 && x + Vector <= job.width) {
      const uint2 us = *reinterpret_cast<const uint2*>(u);
      const uint2 vs = *reinterpret_cast<const uint2*>(v);
      *reinterpret_cast<uint4*>(out) = {__byte_perm(us.x, vs.x, 0x5140), __byte_perm(us.x, vs.x, 0x7362),
                                        __byte_perm(us.y, vs.y, 0x5140), __byte_perm(us.y, vs.y, 0x7362)};
    } else {
      for (int i = 0; i < Vector && x + i < job.width; ++i) {
        out[2 * i] = u[i];
        out[2 * i + 1] = v[i];
      }
    }
  }
}

struct Deep {
  const std::uint8_t* plane[2];
  std::ptrdiff_t in_stride[2];
  std::uint8_t* out[2];
  std::ptrdiff_t out_stride[2];
  int row_samples[2];
  int luma_rows;
  int rows;  // of both planes
};

__device__ unsigned narrow(unsigned sample) { return min((sample + 128) >> 8, 255U); }

// Two 16-bit samples each → four bytes.
__device__ unsigned narrow_4(unsigned a, unsigned b) {
  return narrow(a & 0xffff) | narrow(a >> 16) << 8 | narrow(b & 0xffff) << 16 | narrow(b >> 16) << 24;
}

template <int Vector>
__global__ void __launch_bounds__(block) narrow_kernel(const __grid_constant__ Deep job) {
  for (RowWalk at((job.row_samples[1] + Vector - 1) / Vector); at.row < job.rows; at.advance()) {
    const int p = at.row >= job.luma_rows ? 1 : 0;
    const int y = at.row - (p == 0 ? 0 : job.luma_rows);
    const int x = at.column * Vector;
    const std::uint8_t* in = job.plane[p] + y * job.in_stride[p] + 2 * x;
    std::uint8_t* out = job.out[p] + y * job.out_stride[p] + x;
    if (Vector == 8 && x + Vector <= job.row_samples[p]) {
      const uint4 samples = *reinterpret_cast<const uint4*>(in);
      *reinterpret_cast<uint2*>(out) = {narrow_4(samples.x, samples.y), narrow_4(samples.z, samples.w)};
    } else {
      for (int i = 0; i < Vector && x + i < job.row_samples[p]; ++i)
        out[i] = static_cast<std::uint8_t>(narrow(in[2 * i] | static_cast<unsigned>(in[2 * i + 1]) << 8));
    }
  }
}

unsigned grid(int columns, int rows) {
  return blocks_for(std::int64_t{columns} * rows, block, blocks_per_multiprocessor);
}

}  // namespace

void enqueue_interleave_chroma(const std::uint8_t* u, const std::uint8_t* v, std::ptrdiff_t stride,
                               const MutableFrameView& out, GpuStream stream) {
  const RowRange rows = plane_rows(out, 1);
  const Interleave job{u + rows.begin * stride,
                       v + rows.begin * stride,
                       stride,
                       out.data[1] + std::ptrdiff_t{rows.begin} * out.stride[1],
                       out.stride[1],
                       plane_size(out.format, 1).width / 2,
                       rows.count()};
  if (is_aligned(u, stride, 8) && is_aligned(v, stride, 8) && is_aligned(job.out, job.out_stride, 16)) {
    interleave_kernel<8><<<grid((job.width + 7) / 8, job.height), block, 0, stream>>>(job);
  } else {
    interleave_kernel<1><<<grid(job.width, job.height), block, 0, stream>>>(job);
  }
  check_launch("cannot interleave chroma");
}

void enqueue_p010_to_nv12(const std::uint8_t* luma, std::ptrdiff_t luma_stride, const std::uint8_t* chroma,
                          std::ptrdiff_t chroma_stride, const MutableFrameView& out, GpuStream stream) {
  const PlaneSize luma_size = plane_size(out.format, 0);
  const PlaneSize chroma_size = plane_size(out.format, 1);
  const Deep job{{luma, chroma},
                 {luma_stride, chroma_stride},
                 {out.data[0], out.data[1]},
                 {out.stride[0], out.stride[1]},
                 {luma_size.width, chroma_size.width},
                 luma_size.height,
                 luma_size.height + chroma_size.height};
  bool aligned = true;
  for (int i = 0; i < 2; ++i)
    aligned = aligned && is_aligned(job.plane[i], job.in_stride[i], 16) && is_aligned(job.out[i], job.out_stride[i], 8);
  if (aligned) {
    narrow_kernel<8><<<grid((chroma_size.width + 7) / 8, job.rows), block, 0, stream>>>(job);
  } else {
    narrow_kernel<1><<<grid(chroma_size.width, job.rows), block, 0, stream>>>(job);
  }
  check_launch("cannot convert 10-bit samples");
}

}  // namespace campipe
