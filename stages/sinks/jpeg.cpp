#include "stages/sinks/jpeg.h"

#include <array>
#include <new>

namespace campipe {
namespace {

constexpr int quality = 3;  // of 1 (best) to 31

// Unknown is taken as FFmpeg takes it.
int coefficients_of(const FrameFormat& format) {
  return format.color_space == AVCOL_SPC_UNSPECIFIED || format.color_space == AVCOL_SPC_RGB ? SWS_CS_ITU601
                                                                                            : format.color_space;
}

Scaler make_scaler(const FrameFormat& format) {
  const AVPixelFormat pixels = format.pixels == PixelFormat::nv12 ? AV_PIX_FMT_NV12 : AV_PIX_FMT_YUV420P;
  Scaler scaler(sws_alloc_context());
  if (!scaler) throw std::bad_alloc();
  const auto set = [&scaler](const char* name, std::int64_t value) {
    av_check(av_opt_set_int(scaler.get(), name, value, 0), name);
  };
  set("srcw", format.width);
  set("srch", format.height);
  set("src_format", pixels);
  set("dstw", format.width);
  set("dsth", format.height);
  set("dst_format", AV_PIX_FMT_YUV420P);
  set("sws_flags", SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP);
  const int full = format.color_range == AVCOL_RANGE_JPEG ? 1 : 0;
  sws_setColorspaceDetails(scaler.get(), sws_getCoefficients(coefficients_of(format)), full,
                           sws_getCoefficients(SWS_CS_ITU601), 1, 0, 1 << 16, 1 << 16);
  av_check(sws_init_context(scaler.get(), nullptr, nullptr), "cannot convert a frame for JPEG");
  return scaler;
}

AvFrame make_frame(const FrameFormat& format) {
  AvFrame frame = make_av_frame();
  frame->format = AV_PIX_FMT_YUVJ420P;
  frame->color_range = AVCOL_RANGE_JPEG;
  frame->width = format.width;
  frame->height = format.height;
  frame->quality = quality * FF_QP2LAMBDA;
  av_check(av_frame_get_buffer(frame.get(), 0), "no memory for a frame");
  return frame;
}

AvCodecContext make_encoder(const FrameFormat& format) {
  const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_MJPEG);
  if (codec == nullptr) throw Error("this FFmpeg was built without an encoder for JPEG");
  AvCodecContext encoder(avcodec_alloc_context3(codec));
  if (!encoder) throw std::bad_alloc();
  encoder->width = format.width;
  encoder->height = format.height;
  encoder->pix_fmt = AV_PIX_FMT_YUVJ420P;
  encoder->color_range = AVCOL_RANGE_JPEG;
  encoder->time_base = {1, 1};
  encoder->thread_count = 1;
  encoder->flags |= AV_CODEC_FLAG_QSCALE;
  encoder->global_quality = quality * FF_QP2LAMBDA;
  if (format.sample_aspect_num > 0 && format.sample_aspect_den > 0) {
    encoder->sample_aspect_ratio = {format.sample_aspect_num, format.sample_aspect_den};
  }
  av_check(avcodec_open2(encoder.get(), codec, nullptr), "cannot open the encoder for JPEG");
  return encoder;
}

}  // namespace

JpegEncoder::JpegEncoder() : packet_(make_av_packet()) {}

std::span<const std::uint8_t> JpegEncoder::encode(const FrameView& in) {
  if (!encoder_ || format_ != in.format) prepare(in.format);
  av_check(av_frame_make_writable(frame_.get()), "no memory for a frame");
  const std::array<int, 3> strides{in.stride[0], in.stride[1], in.stride[2]};
  av_check(
      sws_scale(scaler_.get(), in.data.data(), strides.data(), 0, in.format.height, frame_->data, frame_->linesize),
      "cannot convert a frame for JPEG");
  av_packet_unref(packet_.get());
  av_check(avcodec_send_frame(encoder_.get(), frame_.get()), "cannot encode a JPEG");
  av_check(avcodec_receive_packet(encoder_.get(), packet_.get()), "cannot encode a JPEG");
  return {packet_->data, static_cast<std::size_t>(packet_->size)};
}

void JpegEncoder::prepare(const FrameFormat& format) {
  encoder_.reset();
  scaler_ = make_scaler(format);
  frame_ = make_frame(format);
  encoder_ = make_encoder(format);
  format_ = format;
}

}  // namespace campipe
