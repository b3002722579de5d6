#include "core/nal_units.h"

#include <algorithm>
#include <cstddef>

#include "core/big_endian.h"
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

void look_behind_lengths(Bytes data, std::size_t length_bytes, const LookAtUnit& look) {
  while (data.size() > length_bytes) {
    const std::uint64_t length = get_big_endian(data.data(), static_cast<int>(length_bytes));
    data = data.subspan(length_bytes);
    if (length == 0 || length > data.size() || !look(data.first(length))) return;
    data = data.subspan(length);
  }
}

void look_behind_start_codes(Bytes data, const LookAtUnit& look) {
  for (Bytes unit = behind_start_code(data); !unit.empty(); unit = behind_start_code(unit)) {
    if (!look(unit)) return;
  }
}

bool is_of_a_picture(AVCodecID codec, Bytes unit) {
  const unsigned type = codec == AV_CODEC_ID_H264 ? unit[0] & 0x1fU : unit[0] >> 1U & 0x3fU;
  return codec == AV_CODEC_ID_H264 ? type == 1 || type == 2 || type == 5 : type < 32;
}

// It may go on into the next ones.
bool is_header_alone(AVCodecID codec, Bytes unit) {
  const Bytes content = unit.subspan(std::min<std::size_t>(codec == AV_CODEC_ID_H264 ? 1 : 2, unit.size()));
  const Bytes first = content.first(std::min<std::size_t>(4, content.size()));
  const auto end = std::ranges::search(first, start_code).begin();
  return std::all_of(first.begin(), end, [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

void each_nal_unit(const AVCodecParameters& codec, const AVPacket& packet, const LookAtUnit& look) {
  const Bytes data(packet.data, static_cast<std::size_t>(packet.size));
  const std::size_t length_bytes = bytes_of_length(codec);
  length_bytes > 0 ? look_behind_lengths(data, length_bytes, look) : look_behind_start_codes(data, look);
}

bool is_broken(const AVCodecParameters& codec, const AVPacket& packet) {
  const std::size_t length_bytes = bytes_of_length(codec);
  std::size_t walked = 0;
  bool any_header = false;
  bool any_content = false;
  each_nal_unit(codec, packet, [&](Bytes unit) {
    walked += length_bytes + unit.size();
    if (is_of_a_picture(codec.codec_id, unit))
      (is_header_alone(codec.codec_id, unit) ? any_header : any_content) = true;
    return length_bytes > 0 || !any_content;
  });
  // A rest that is no longer than a length holds no further unit.
  const bool to_its_end = length_bytes == 0 || static_cast<std::size_t>(packet.size) <= walked + length_bytes;
  return !to_its_end || (any_header && !any_content);
}

}  // namespace campipe
