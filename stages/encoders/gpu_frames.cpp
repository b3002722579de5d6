#include "stages/encoders/gpu_frames.h"

#include "core/cuda.h"
#include "core/cuda_ffmpeg.h"

namespace campipe {

AvBuffer make_gpu_frames(int width, int height, GpuStream stream) {
  const AvBuffer device = make_ffmpeg_device(stream);
  AvBuffer buffer(av_hwframe_ctx_alloc(device.get()));
  if (!buffer) throw std::bad_alloc();
  auto& frames = *reinterpret_cast<AVHWFramesContext*>(buffer->data);
  frames.format = AV_PIX_FMT_CUDA;
  frames.sw_format = AV_PIX_FMT_NV12;
  frames.width = width;
  frames.height = height;
  av_check(av_hwframe_ctx_init(buffer.get()), "FFmpeg cannot make frames on the GPU");
  return buffer;
}

AvFrame copy_to_gpu_frame(const FrameView& in, AVBufferRef& frames, GpuStream stream) {
  AvFrame frame = make_av_frame();
  av_check(av_hwframe_get_buffer(&frames, frame.get(), 0), "no frame on the GPU for the encoder");
  const FrameFormat format{.pixels = PixelFormat::nv12, .width = frame->width, .height = frame->height};
  for (int plane = 0; plane < 2; ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    const PlaneSize size = plane_size(format, plane);
    cuda_check(cudaMemcpy2DAsync(frame->data[plane], static_cast<std::size_t>(frame->linesize[plane]), in.data[at],
                                 static_cast<std::size_t>(in.stride[at]), static_cast<std::size_t>(size.width),
                                 static_cast<std::size_t>(size.height), cudaMemcpyDefault, stream),
               "cannot copy a frame for the encoder");
  }
  return frame;
}

}  // namespace campipe
