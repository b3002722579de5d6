#include "app/publisher/server/live/mime.h"

#include <array>
#include <cstdio>

#include "app/publisher/server/live/mp4_box.h"
#include "core/big_endian.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

template <typename... Values>
std::string text(const char* format, Values... values) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, values...);
  return buffer.data();
}

// AVCDecoderConfigurationRecord: version, profile, constraints, level.
std::string avc_codec(Bytes record) { return text("avc1.%02x%02x%02x", record[1], record[2], record[3]); }

// The compatibility flags are written from the last to the first (ISO/IEC 14496-15, annex E).
std::uint32_t reversed(std::uint32_t bits) {
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 32; ++i) result |= (bits >> i & 1U) << (31U - i);
  return result;
}

// HEVCDecoderConfigurationRecord: version; profile space (2 bits), tier (1), profile (5); 32 flags of compatibility; 48
// bits of constraints; level.
std::string hevc_codec(Bytes record) {
  constexpr std::array<const char*, 4> spaces{"", "A", "B", "C"};
  const auto flags = static_cast<std::uint32_t>(get_big_endian(&record[2], 4));
  std::string codec = text("hvc1.%s%d.%x.%c%d", spaces[record[1] >> 6U], record[1] & 31, reversed(flags),
                           (record[1] & 32) != 0 ? 'H' : 'L', record[12]);
  std::size_t constraints = 6;
  while (constraints > 0 && record[5 + constraints] == 0) --constraints;
  for (std::size_t i = 0; i < constraints; ++i) codec += text(".%x", record[6 + i]);
  return codec;
}

}  // namespace

std::string mime_of_sound(const AudioParameters& audio) {
  if (audio.codec == "opus") return "audio/mp4; codecs=\"opus\"";
  if (audio.codec != "aac" || audio.extradata.size() < 2) return "";
  const int type = audio.extradata[0] >> 3;  // AudioSpecificConfig: 31 is an escape to rare ones
  return type == 0 || type == 31 ? "" : text("audio/mp4; codecs=\"mp4a.40.%d\"", type);
}

std::string mime_of_init_segment(Bytes segment) {
  std::string codec;
  if (const Bytes avc = contents_of(segment, "avcC", 4); !avc.empty()) codec = avc_codec(avc);
  if (const Bytes hevc = contents_of(segment, "hvcC", 13); !hevc.empty()) codec = hevc_codec(hevc);
  return codec.empty() ? "" : "video/mp4; codecs=\"" + codec + "\"";
}

}  // namespace campipe
