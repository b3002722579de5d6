#include "core/cuda_ffmpeg.h"

#include "core/cuda.h"

extern "C" {
#include <libavutil/hwcontext_cuda.h>
}

namespace campipe {

// The context is handed over rather than asked for by index, since FFmpeg 5 refuses a primary context whose flags it
// did not set itself.
AvBuffer make_ffmpeg_device(GpuStream stream) {
  AvBuffer buffer(av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA));
  if (!buffer) throw Error("this FFmpeg was built without CUDA");
  auto& device = *reinterpret_cast<AVHWDeviceContext*>(buffer->data);
  auto& cuda = *static_cast<AVCUDADeviceContext*>(device.hwctx);
  cuda_check(cuda_driver().ctx_get_current(&cuda.cuda_ctx), "cannot find the GPU's context");
  cuda.stream = stream;
  av_check(av_hwdevice_ctx_init(buffer.get()), "FFmpeg cannot use the GPU");
  return buffer;
}

}  // namespace campipe
