#include "stages/decoders/picture_format.h"

#include <algorithm>

namespace campipe {

namespace {

bool is_full_range(AVColorRange range, AVPixelFormat coded) {
  return range == AVCOL_RANGE_JPEG || coded == AV_PIX_FMT_YUVJ420P || coded == AV_PIX_FMT_YUVJ422P ||
         coded == AV_PIX_FMT_YUVJ444P;
}

}  // namespace

FrameFormat format_of(const AVFrame& frame, AVPixelFormat coded, PixelFormat pixels) {
  FrameFormat format{pixels, frame.width, frame.height};
  const bool full = is_full_range(frame.color_range, coded);
  format.color_range = static_cast<std::uint8_t>(full ? AVCOL_RANGE_JPEG : frame.color_range);
  format.color_space = static_cast<std::uint8_t>(frame.colorspace);
  format.color_primaries = static_cast<std::uint8_t>(frame.color_primaries);
  format.color_transfer = static_cast<std::uint8_t>(frame.color_trc);
  format.chroma_location = static_cast<std::uint8_t>(frame.chroma_location);
  format.sample_aspect_num = frame.sample_aspect_ratio.num;
  format.sample_aspect_den = std::max(frame.sample_aspect_ratio.den, 1);
  return format;
}

FrameFormat expected_format(const AVCodecParameters& stream, PixelFormat pixels) {
  FrameFormat format{pixels, stream.width, stream.height};
  const bool full = is_full_range(stream.color_range, static_cast<AVPixelFormat>(stream.format));
  format.color_range = static_cast<std::uint8_t>(full ? AVCOL_RANGE_JPEG : stream.color_range);
  format.color_space = static_cast<std::uint8_t>(stream.color_space);
  format.color_primaries = static_cast<std::uint8_t>(stream.color_primaries);
  format.color_transfer = static_cast<std::uint8_t>(stream.color_trc);
  format.chroma_location = static_cast<std::uint8_t>(stream.chroma_location);
  format.sample_aspect_num = stream.sample_aspect_ratio.num;
  format.sample_aspect_den = std::max(stream.sample_aspect_ratio.den, 1);
  return format;
}

}  // namespace campipe
