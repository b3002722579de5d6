#include "stages/decoders/clean_start.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/start_codes.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

// How many bytes the length before each unit has, by the header of the container (ISO/IEC 14496-15); 0: the units are
// divided by start codes.
std::size_t bytes_of_length(const AVCodecParameters& codec) {
  const std::size_t at = codec.codec_id == AV_CODEC_ID_H264 ? 4 : 21;
  if (codec.extradata_size <= static_cast<int>(at) || codec.extradata[0] != 1) return 0;
  return (codec.extradata[at] & 3U) + 1;
}

// The first byte of each unit, as long as `look` wants more.
using Look = std::function<bool(std::uint8_t first)>;

void look_behind_lengths(Bytes data, std::size_t length_bytes, const Look& look) {
  while (data.size() > length_bytes) {
    std::size_t length = 0;
    for (const std::uint8_t byte : data.first(length_bytes)) length = length << 8U | byte;
    data = data.subspan(length_bytes);
    if (length == 0 || length > data.size() || !look(data.front())) return;
    data = data.subspan(length);
  }
}

void look_behind_start_codes(Bytes data, const Look& look) {
  for (Bytes unit = behind_start_code(data); !unit.empty(); unit = behind_start_code(unit)) {
    if (!look(unit.front())) return;
  }
}

// By the first unit that is a piece of a picture (ITU-T H.264 table 7-1, H.265 table 7-1).
bool is_idr(const AVCodecParameters& codec, Bytes data) {
  const bool h264 = codec.codec_id == AV_CODEC_ID_H264;
  bool idr = false;
  const Look look = [&](std::uint8_t first) {
    const unsigned type = h264 ? first & 31U : first >> 1U & 63U;
    const bool picture = h264 ? type >= 1 && type <= 5 : type < 32;
    if (picture) idr = h264 ? type == 5 : type == 19 || type == 20;
    return !picture;
  };
  const std::size_t length_bytes = bytes_of_length(codec);
  length_bytes > 0 ? look_behind_lengths(data, length_bytes, look) : look_behind_start_codes(data, look);
  return idr;
}

}  // namespace

bool is_clean_start(const AVCodecParameters& codec, const AVPacket& packet) {
  switch (codec.codec_id) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
      return is_idr(codec, {packet.data, static_cast<std::size_t>(packet.size)});
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
      return true;
    default:
      return false;
  }
}

}  // namespace campipe
