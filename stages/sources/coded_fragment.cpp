#include "stages/sources/coded_fragment.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/start_codes.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

// The bytes behind the start code that a fragment begins with. Empty: it begins with none, or has nothing behind it.
Bytes first_unit(Bytes data) {
  const bool four = data.size() > 3 && data[0] == 0 && data[1] == 0 && data[2] == 0 && data[3] == 1;
  const Bytes unit = four ? data.subspan(1) : data;
  if (unit.size() <= start_code.size() || !std::ranges::equal(unit.first(start_code.size()), start_code)) return {};
  return unit.subspan(start_code.size());
}

enum class Role : std::uint8_t {
  first_slice,  // of a picture
  slice,
  before,  // what can only stand before a picture's slices
  other
};

Role role_of_h264(Bytes unit) {
  const unsigned type = unit[0] & 0x1fU;
  if (type == 1 || type == 2 || type == 5) {
    // first_mb_in_slice, as ue(v): a one is 0
    return unit.size() > 1 && (unit[1] & 0x80U) != 0 ? Role::first_slice : Role::slice;
  }
  if (type == 3 || type == 4) return Role::slice;  // data partitions
  return type >= 6 && type <= 9 ? Role::before : Role::other;
}

Role role_of_hevc(Bytes unit) {
  if (unit.size() < 2) return Role::other;
  const unsigned type = unit[0] >> 1U & 0x3fU;
  const bool base_layer = (unit[0] & 1U) == 0 && unit[1] >> 3U == 0;
  if (!base_layer) return Role::other;
  if (type < 32) return unit.size() > 2 && (unit[2] & 0x80U) != 0 ? Role::first_slice : Role::slice;
  const bool before =
      (type >= 32 && type <= 35) || type == 39 || (type >= 41 && type <= 44) || (type >= 48 && type <= 55);
  return before ? Role::before : Role::other;
}

// Start codes of MPEG-4 Visual are of one byte.
Role role_of_mpeg4(Bytes unit) {
  const unsigned type = unit[0];
  if (type == 0xb6) return Role::first_slice;
  const bool before = type <= 0x2f || type == 0xb0 || type == 0xb3 || type == 0xb5;
  return before ? Role::before : Role::other;
}

bool shows_roles(AVCodecID codec) {
  return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC || codec == AV_CODEC_ID_MPEG4;
}

// `unit`: not empty.
Role role_of(AVCodecID codec, Bytes unit) {
  if (codec == AV_CODEC_ID_H264) return role_of_h264(unit);
  return codec == AV_CODEC_ID_HEVC ? role_of_hevc(unit) : role_of_mpeg4(unit);
}

}  // namespace

bool comes_in_fragments(AVCodecID codec) {
  constexpr std::array codecs{AV_CODEC_ID_H264,       AV_CODEC_ID_HEVC, AV_CODEC_ID_MPEG4, AV_CODEC_ID_MPEG1VIDEO,
                              AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_H261, AV_CODEC_ID_H263,  AV_CODEC_ID_H263P};
  return std::ranges::find(codecs, codec) != codecs.end();
}

bool begins_unit(AVCodecID codec, Bytes fragment) {
  const Bytes unit = first_unit(fragment);
  if (!shows_roles(codec) || unit.empty()) return false;
  const Role role = role_of(codec, unit);
  return role == Role::first_slice || role == Role::before;
}

bool holds_picture(AVCodecID codec, Bytes fragment) {
  if (!shows_roles(codec)) return true;
  for (Bytes unit = behind_start_code(fragment); !unit.empty(); unit = behind_start_code(unit)) {
    const Role role = role_of(codec, unit);
    if (role == Role::first_slice || role == Role::slice) return true;
  }
  return false;
}

bool stands_alone(AVCodecID codec, Bytes fragment) {
  const bool in_units = codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC;
  return !in_units || !first_unit(fragment).empty();
}

}  // namespace campipe
