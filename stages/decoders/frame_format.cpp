#include "stages/decoders/frame_format.h"

#include <cstring>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace campipe {

namespace {

constexpr int largest_aspect = 65535;  // what codecs can carry
constexpr int longest_side_ratio = 100;

// In a stranger's stream an enumeration of libav's may hold a number that it does not list, and must not be read as one
// then.
template <typename Enum>
int number_of(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

bool is_full_range(int range, AVPixelFormat coded) {
  return range == AVCOL_RANGE_JPEG || coded == AV_PIX_FMT_YUVJ420P || coded == AV_PIX_FMT_YUVJ422P ||
         coded == AV_PIX_FMT_YUVJ444P;
}

// `name_of`: libav's names; what has none means nothing.
template <typename Enum>
std::uint8_t known(int number, Enum end, const char* (*name_of)(Enum), Enum unspecified) {
  const bool is_known = number >= 0 && number < end && name_of(static_cast<Enum>(number)) != nullptr;
  return static_cast<std::uint8_t>(is_known ? number : unspecified);
}

bool is_absurd(AVRational aspect) {
  if (aspect.num <= 0 || aspect.den <= 0 || aspect.num > largest_aspect || aspect.den > largest_aspect) return true;
  return aspect.num > longest_side_ratio * aspect.den || aspect.den > longest_side_ratio * aspect.num;
}

// What is in both of libav's descriptions.
struct Described {
  int range, space, primaries, transfer, chroma;
  AVRational aspect;
};

FrameFormat format_of(PixelFormat pixels, int width, int height, const Described& described) {
  FrameFormat format{pixels, width, height};
  format.color_range = known(described.range, AVCOL_RANGE_NB, av_color_range_name, AVCOL_RANGE_UNSPECIFIED);
  format.color_space = known(described.space, AVCOL_SPC_NB, av_color_space_name, AVCOL_SPC_UNSPECIFIED);
  format.color_primaries = known(described.primaries, AVCOL_PRI_NB, av_color_primaries_name, AVCOL_PRI_UNSPECIFIED);
  format.color_transfer = known(described.transfer, AVCOL_TRC_NB, av_color_transfer_name, AVCOL_TRC_UNSPECIFIED);
  format.chroma_location = known(described.chroma, AVCHROMA_LOC_NB, av_chroma_location_name, AVCHROMA_LOC_UNSPECIFIED);
  if (is_absurd(described.aspect)) return format;
  format.sample_aspect_num = described.aspect.num;
  format.sample_aspect_den = described.aspect.den;
  return format;
}

}  // namespace

FrameFormat format_of(const AVFrame& frame, AVPixelFormat coded, PixelFormat pixels) {
  const int range = number_of(frame.color_range);
  return format_of(pixels, frame.width, frame.height,
                   {is_full_range(range, coded) ? AVCOL_RANGE_JPEG : range, number_of(frame.colorspace),
                    number_of(frame.color_primaries), number_of(frame.color_trc), number_of(frame.chroma_location),
                    frame.sample_aspect_ratio});
}

FrameFormat expected_format(const AVCodecParameters& stream, PixelFormat pixels) {
  const int range = number_of(stream.color_range);
  const bool is_full = is_full_range(range, static_cast<AVPixelFormat>(stream.format));
  return format_of(
      pixels, stream.width, stream.height,
      {is_full ? AVCOL_RANGE_JPEG : range, number_of(stream.color_space), number_of(stream.color_primaries),
       number_of(stream.color_trc), number_of(stream.chroma_location), stream.sample_aspect_ratio});
}

}  // namespace campipe
