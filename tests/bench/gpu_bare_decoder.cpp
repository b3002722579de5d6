#include "tests/bench/gpu_bare_decoder.h"

extern "C" {
#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_cuda.h>
}

#include <string>

namespace campipe {
namespace {

AVPixelFormat choose_cuda(AVCodecContext*, const AVPixelFormat* offered) {
  for (; *offered != AV_PIX_FMT_NONE; ++offered) {
    if (*offered == AV_PIX_FMT_CUDA) return AV_PIX_FMT_CUDA;
  }
  return AV_PIX_FMT_NONE;
}

}  // namespace

AvBuffer open_hardware(int gpu_index) {
  AVBufferRef* device = nullptr;
  av_check(av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_CUDA, std::to_string(gpu_index).c_str(), nullptr,
                                  AV_CUDA_USE_PRIMARY_CONTEXT),
           "opening the GPU for FFmpeg");
  return AvBuffer(device);
}

GpuBareDecoder::GpuBareDecoder(const SourceStream& stream, AVBufferRef* hardware) : frame_(make_av_frame()) {
  const AVCodec* codec = avcodec_find_decoder(stream.codec->codec_id);
  if (codec == nullptr) throw Error("there is no decoder for " + stream.decoder);
  context_.reset(avcodec_alloc_context3(codec));
  av_check(avcodec_parameters_to_context(context_.get(), stream.codec), "decoder " + stream.decoder);
  context_->pkt_timebase = stream.time_base;
  context_->thread_count = 1;
  context_->get_format = choose_cuda;
  context_->hw_device_ctx = av_buffer_ref(hardware);
  av_check(avcodec_open2(context_.get(), codec, nullptr), "cannot open the decoder " + stream.decoder);
}

unsigned GpuBareDecoder::decode(const AVPacket* packet) {
  av_check(avcodec_send_packet(context_.get(), packet), "decoding");
  unsigned frames = 0;
  int code = 0;
  while ((code = avcodec_receive_frame(context_.get(), frame_.get())) >= 0) {
    if (frame_->format != AV_PIX_FMT_CUDA) throw Error("the GPU does not decode this");
    av_frame_unref(frame_.get());
    ++frames;
  }
  if (code != AVERROR(EAGAIN) && code != AVERROR_EOF) av_check(code, "decoding");
  return frames;
}

void GpuBareDecoder::flush() { avcodec_flush_buffers(context_.get()); }

}  // namespace campipe
