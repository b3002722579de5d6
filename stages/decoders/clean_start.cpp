#include "stages/decoders/clean_start.h"

#include <cstdint>
#include <span>

#include "core/nal_units.h"

namespace campipe {
namespace {

// By the first unit that is a piece of a picture (ITU-T H.264 table 7-1, H.265 table 7-1).
bool is_idr(const AVCodecParameters& codec, const AVPacket& packet) {
  const bool h264 = codec.codec_id == AV_CODEC_ID_H264;
  bool idr = false;
  each_nal_unit(codec, packet, [&](std::span<const std::uint8_t> unit) {
    const unsigned type = h264 ? unit.front() & 31U : unit.front() >> 1U & 63U;
    const bool picture = h264 ? type >= 1 && type <= 5 : type < 32;
    if (picture) idr = h264 ? type == 5 : type == 19 || type == 20;
    return !picture;
  });
  return idr;
}

}  // namespace

bool is_clean_start(const AVCodecParameters& codec, const AVPacket& packet) {
  switch (codec.codec_id) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
      return is_idr(codec, packet);
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
      return true;
    default:
      return false;
  }
}

}  // namespace campipe
