#include "stages/decoders/picture_format.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace campipe {

namespace {

constexpr int largest_aspect = 65535;  // what codecs can say
constexpr int longest_side_ratio = 100;

bool is_full_range(AVColorRange range, AVPixelFormat coded) {
  return range == AVCOL_RANGE_JPEG || coded == AV_PIX_FMT_YUVJ420P || coded == AV_PIX_FMT_YUVJ422P ||
         coded == AV_PIX_FMT_YUVJ444P;
}

// A number that libav hands on as the stream says it, whether it means anything or not; `name`: libav's for it.
std::uint8_t known(int number, const char* name, int unspecified) {
  return static_cast<std::uint8_t>(name != nullptr ? number : unspecified);
}

bool is_absurd(AVRational aspect) {
  if (aspect.num <= 0 || aspect.den <= 0 || aspect.num > largest_aspect || aspect.den > largest_aspect) return true;
  return aspect.num > longest_side_ratio * aspect.den || aspect.den > longest_side_ratio * aspect.num;
}

// What is in both of libav's descriptions.
struct Described {
  AVColorRange range;
  AVColorSpace space;
  AVColorPrimaries primaries;
  AVColorTransferCharacteristic transfer;
  AVChromaLocation chroma;
  AVRational aspect;
};

FrameFormat format_of(PixelFormat pixels, int width, int height, const Described& said) {
  FrameFormat format{pixels, width, height};
  format.color_range = known(said.range, av_color_range_name(said.range), AVCOL_RANGE_UNSPECIFIED);
  format.color_space = known(said.space, av_color_space_name(said.space), AVCOL_SPC_UNSPECIFIED);
  format.color_primaries = known(said.primaries, av_color_primaries_name(said.primaries), AVCOL_PRI_UNSPECIFIED);
  format.color_transfer = known(said.transfer, av_color_transfer_name(said.transfer), AVCOL_TRC_UNSPECIFIED);
  format.chroma_location = known(said.chroma, av_chroma_location_name(said.chroma), AVCHROMA_LOC_UNSPECIFIED);
  if (is_absurd(said.aspect)) return format;
  format.sample_aspect_num = said.aspect.num;
  format.sample_aspect_den = said.aspect.den;
  return format;
}

}  // namespace

FrameFormat format_of(const AVFrame& frame, AVPixelFormat coded, PixelFormat pixels) {
  const AVColorRange range = is_full_range(frame.color_range, coded) ? AVCOL_RANGE_JPEG : frame.color_range;
  return format_of(pixels, frame.width, frame.height,
                   {range, frame.colorspace, frame.color_primaries, frame.color_trc, frame.chroma_location,
                    frame.sample_aspect_ratio});
}

FrameFormat expected_format(const AVCodecParameters& stream, PixelFormat pixels) {
  const bool full = is_full_range(stream.color_range, static_cast<AVPixelFormat>(stream.format));
  return format_of(pixels, stream.width, stream.height,
                   {full ? AVCOL_RANGE_JPEG : stream.color_range, stream.color_space, stream.color_primaries,
                    stream.color_trc, stream.chroma_location, stream.sample_aspect_ratio});
}

}  // namespace campipe
