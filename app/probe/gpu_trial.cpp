// What a worker does with a GPU before its first frame, in short: a context, memory, a kernel, a copy back.
#include <vector>

#include "app/probe/device_check.h"
#include "core/cuda.h"
#include "kernels/fill.h"

namespace campipe {
namespace {

constexpr std::int32_t width = 1024;
constexpr std::int32_t height = 256;
constexpr std::size_t room = 64UL * 1024 * 1024;  // less is none: a camera takes more
constexpr std::uint8_t luma = 77;

}  // namespace

void try_gpu(const Device& device) {
  use_gpu(device);
  const DeviceBytes memory = allocate_on_device(room);
  MutableFrameView frame;
  frame.format.pixels = PixelFormat::nv12;
  frame.format.width = width;
  frame.format.height = height;
  frame.data[0] = memory.get();
  frame.data[1] = memory.get() + width * height;
  frame.stride[0] = frame.stride[1] = width;
  const CudaStream stream = make_cuda_stream();
  enqueue_fill_around(frame, {}, {luma, 128, 128}, stream.get());
  std::vector<std::uint8_t> row(width);
  const std::uint8_t* const last = memory.get() + static_cast<std::size_t>(width) * (height - 1);
  cuda_check(cudaMemcpyAsync(row.data(), last, row.size(), cudaMemcpyDeviceToHost, stream.get()), "cannot copy");
  cuda_check(cudaStreamSynchronize(stream.get()), "the GPU did not finish a kernel");
  for (const std::uint8_t sample : row) {
    if (sample != luma) throw GpuError("it computes what is wrong", GpuError::Kind::other);
  }
}

}  // namespace campipe
