#include "stages/decoders/slot_converter.h"

#include "core/error.h"

namespace campipe {

void SlotConverter::convert(const AVFrame& from, const MutableFrameView& to) {
  const Input input{from.width, from.height, from.format};
  if (!scaler_ || input != input_ || to.format != output_) {
    const AVPixelFormat pixels = to.format.pixels == PixelFormat::nv12 ? AV_PIX_FMT_NV12 : AV_PIX_FMT_YUV420P;
    scaler_.reset(sws_getContext(input.width, input.height, static_cast<AVPixelFormat>(input.format), to.format.width,
                                 to.format.height, pixels, SWS_BILINEAR, nullptr, nullptr, nullptr));
    if (!scaler_) throw Error("frames of this format cannot be converted to 4:2:0");
    input_ = input;
    output_ = to.format;
    // Full-range input stays full-range; otherwise libswscale would guess from the pixel format's name.
    const int full = to.format.color_range == AVCOL_RANGE_JPEG ? 1 : 0;
    const int* table = sws_getCoefficients(SWS_CS_DEFAULT);
    sws_setColorspaceDetails(scaler_.get(), table, full, table, full, 0, 1 << 16, 1 << 16);
  }
  sws_scale(scaler_.get(), from.data, from.linesize, 0, from.height, to.data.data(), to.stride.data());
}

}  // namespace campipe
