#include "stages/sinks/sample_data.h"

#include <algorithm>

#include "core/start_codes.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

// Parameter sets (ITU-T H.265 table 7-1), which libavformat leaves out of samples called `hvc1`.
bool is_parameter_set_of_hevc(std::uint8_t first) {
  const unsigned type = first >> 1U & 63U;
  return type >= 32 && type <= 34;
}

bool has_unit(Bytes packet, bool hevc) {
  for (Bytes unit = behind_start_code(packet); !unit.empty(); unit = behind_start_code(unit)) {
    if (!hevc || !is_parameter_set_of_hevc(unit.front())) return true;
  }
  return false;
}

// AV1's units (AV1 bitstream specification, 5.3) that libavformat leaves out: temporal delimiters, redundant headers of
// frames, lists of tiles, padding.
bool is_left_out_of_av1(std::uint8_t first) {
  const unsigned type = first >> 3U & 15U;
  return type == 2 || type == 7 || type == 8 || type == 15;
}

bool has_av1_unit(Bytes packet) {
  while (!packet.empty()) {
    const std::uint8_t first = packet.front();
    if (!is_left_out_of_av1(first)) return true;
    const bool has_size = (first & 2U) != 0;
    packet = packet.subspan(std::min<std::size_t>((first & 4U) != 0 ? 2 : 1, packet.size()));
    if (!has_size) return false;  // it reaches to the end
    std::uint64_t size = 0;
    unsigned bytes = 0;
    for (bool more = true; more && bytes < 8; ++bytes) {
      if (bytes == packet.size()) return false;
      size |= std::uint64_t{packet[bytes] & 127U} << (7 * bytes);
      more = (packet[bytes] & 128U) != 0;
    }
    packet = packet.subspan(bytes);
    packet = packet.subspan(std::min<std::uint64_t>(size, packet.size()));
  }
  return false;
}

}  // namespace

bool makes_sample(std::string_view codec, Bytes extradata, Bytes packet) {
  const bool by_lengths = !extradata.empty() && extradata[0] == 1;  // ISO/IEC 14496-15
  if ((codec == "h264" || codec == "hevc") && !by_lengths) return has_unit(packet, codec == "hevc");
  if (codec == "av1") return has_av1_unit(packet);
  return !packet.empty();
}

}  // namespace campipe
