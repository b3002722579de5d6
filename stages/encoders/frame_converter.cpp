#include "stages/encoders/frame_converter.h"

#include <array>
#include <new>

#include "stages/encoders/encoder_context.h"

namespace campipe {
namespace {

// Unknown is taken as FFmpeg takes it.
bool is_bt601(const FrameFormat& format) {
  return format.color_space == AVCOL_SPC_UNSPECIFIED || format.color_space == AVCOL_SPC_BT470BG ||
         format.color_space == AVCOL_SPC_SMPTE170M || format.color_space == AVCOL_SPC_RGB;
}

const int* coefficients_of(const FrameFormat& format) {
  return sws_getCoefficients(is_bt601(format) ? SWS_CS_ITU601 : format.color_space);
}

int is_full_range(const FrameFormat& format) { return format.color_range == AVCOL_RANGE_JPEG ? 1 : 0; }

Scaler make_scaler(const FrameFormat& from, const FrameFormat& to) {
  Scaler scaler(sws_alloc_context());
  if (!scaler) throw std::bad_alloc();
  const auto set = [&scaler](const char* name, std::int64_t value) {
    av_check(av_opt_set_int(scaler.get(), name, value, 0), name);
  };
  set("srcw", to.width);
  set("srch", to.height);
  set("src_format", av_pixel_format(from.pixels));
  set("dstw", to.width);
  set("dsth", to.height);
  set("dst_format", AV_PIX_FMT_YUV420P);
  set("sws_flags", SWS_BILINEAR | SWS_ACCURATE_RND);
  sws_setColorspaceDetails(scaler.get(), coefficients_of(from), is_full_range(from), coefficients_of(to),
                           is_full_range(to), 0, 1 << 16, 1 << 16);
  av_check(sws_init_context(scaler.get(), nullptr, nullptr), "cannot convert frames for the encoder");
  return scaler;
}

}  // namespace

FrameFormat jpeg_format(const FrameFormat& format) {
  FrameFormat jpeg = format;
  jpeg.pixels = PixelFormat::i420;
  jpeg.color_range = AVCOL_RANGE_JPEG;
  if (!is_bt601(format)) jpeg.color_space = AVCOL_SPC_BT470BG;  // as decoders of JPEG call it
  return jpeg;
}

FrameConverter::FrameConverter(const FrameFormat& from, const FrameFormat& to)
    : scaler_(make_scaler(from, to)), frame_(make_av_frame()) {
  frame_->format = to.color_range == AVCOL_RANGE_JPEG ? AV_PIX_FMT_YUVJ420P : AV_PIX_FMT_YUV420P;
  frame_->width = to.width;
  frame_->height = to.height;
  av_check(av_frame_get_buffer(frame_.get(), 0), "no memory for a frame");
}

AvFrame FrameConverter::convert(const FrameView& in) {
  av_check(av_frame_make_writable(frame_.get()), "no memory for a frame");
  const std::array<int, 3> strides{in.stride[0], in.stride[1], in.stride[2]};
  av_check(sws_scale(scaler_.get(), in.data.data(), strides.data(), 0, frame_->height, frame_->data, frame_->linesize),
           "cannot convert a frame for the encoder");
  AvFrame frame = make_av_frame();
  av_check(av_frame_ref(frame.get(), frame_.get()), "no memory for a frame");
  return frame;
}

}  // namespace campipe
