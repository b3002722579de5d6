#include "stages/sources/many_units.h"

#include "core/big_endian.h"
#include "core/nal_units.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t fixed_header = 12;
constexpr std::size_t most_sources = 64;

// Behind the header of a packet; empty: it is none.
Bytes payload_of(Bytes packet) {
  if (packet.size() < fixed_header || packet[0] >> 6U != 2) return {};
  std::size_t at = fixed_header + std::size_t{4} * (packet[0] & 15U);
  const bool is_extended = (packet[0] & 0x10U) != 0;
  if (is_extended && packet.size() >= at + 4) at += 4 + 4 * get_big_endian(&packet[at + 2], 2);
  return packet.size() > at ? packet.subspan(at) : Bytes();
}

// Each behind a length of two bytes.
std::size_t gathered_in(Bytes rest) {
  std::size_t units = 0;
  while (rest.size() > 2) {
    const std::uint64_t length = get_big_endian(rest.data(), 2);
    rest = rest.subspan(2);
    ++units;
    if (length > rest.size()) break;
    rest = rest.subspan(length);
  }
  return units;
}

std::size_t units_in(Bytes payload) {
  const unsigned of_h264 = payload[0] & 31U;
  const unsigned of_hevc = payload[0] >> 1U & 63U;
  if (of_h264 == 24) return gathered_in(payload.subspan(1));                        // STAP-A
  if (of_hevc == 48 && payload.size() > 2) return gathered_in(payload.subspan(2));  // AP
  if (of_hevc == 49 && payload.size() > 2) return payload[2] >> 7U;                 // FU: where one begins
  if (of_h264 == 28 && payload.size() > 1) return payload[1] >> 7U;                 // FU-A
  return 1;
}

}  // namespace

bool has_too_many_units(const AVCodecParameters& codec, const AVPacket& packet) {
  const bool has_units = codec.codec_id == AV_CODEC_ID_H264 || codec.codec_id == AV_CODEC_ID_HEVC;
  if (!has_units || static_cast<std::size_t>(packet.size) < 2 * most_units) return false;
  std::size_t units = 0;
  each_nal_unit(codec, packet, [&](Bytes /*unit*/) { return ++units <= most_units; });
  return units > most_units;
}

std::string too_many_units_text() {
  return "sends a frame of more than " + std::to_string(most_units) + " NAL units, as no camera does";
}

void UnitsInBytes::take(Bytes bytes) {
  bytes_ += bytes.size();
  for (const std::uint8_t byte : bytes) {
    newest_ = newest_ << 8U | byte;
    const bool begins = (newest_ & 0xffffffU) == 1 || (newest_ < 256 && newest_ > 1);
    units_ += begins ? 1 : 0;
  }
}

void UnitsInRtp::take(Bytes packet) {
  const Bytes payload = payload_of(packet);
  if (payload.empty()) return;
  const auto timestamp = static_cast<std::uint32_t>(get_big_endian(&packet[4], 4));
  const auto source = static_cast<std::uint32_t>(get_big_endian(&packet[8], 4));
  if (flows_.size() >= most_sources && !flows_.contains(source)) return;
  Flow& flow = flows_[source];
  if (flow.timestamp != timestamp) flow = {timestamp, 0};
  flow.units += units_in(payload);
  too_many_ = too_many_ || flow.units > most_units;
}

}  // namespace campipe
