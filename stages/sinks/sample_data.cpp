#include "stages/sinks/sample_data.h"

#include "core/av1_units.h"
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
bool is_left_out_of_av1(unsigned type) { return type == 2 || type == 7 || type == 8 || type == 15; }

bool has_av1_unit(Bytes packet) {
  for (auto unit = take_av1_unit(packet); unit; unit = take_av1_unit(packet)) {
    if (!is_left_out_of_av1(unit->type)) return true;
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
