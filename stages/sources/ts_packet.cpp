#include "stages/sources/ts_packet.h"

#include <algorithm>

namespace campipe {
namespace {

constexpr std::size_t head_size = 4;
constexpr unsigned discontinuity_flag = 0x80;

// Whether an adaptation field has more in it than its flags say. One byte of it that says nothing is stuffing, too.
bool has_stuffing(std::span<const std::uint8_t> field) {
  if (field.empty() || (field.size() == 1 && field[0] == 0)) return true;
  const unsigned flags = field[0];
  std::size_t used = 1;
  if ((flags & 0x10U) != 0) used += 6;          // PCR
  if ((flags & 0x08U) != 0) used += 6;          // OPCR
  if ((flags & 0x04U) != 0) used += 1;          // splice countdown
  for (const unsigned flag : {0x02U, 0x01U}) {  // private data, extension: with their lengths
    if ((flags & flag) == 0) continue;
    if (used >= field.size()) return false;
    used += 1 + std::size_t{field[used]};
  }
  return field.size() > used;
}

}  // namespace

std::optional<TsHead> read_ts_head(TsPacket packet) {
  if (packet[0] != ts_sync) return std::nullopt;
  TsHead head;
  head.damaged = (packet[1] & 0x80U) != 0;
  head.begins = (packet[1] & 0x40U) != 0;
  head.pid = (packet[1] & 0x1fU) << 8U | packet[2];
  head.counter = packet[3] & 0x0fU;
  head.payload = head_size;
  if ((packet[3] & 0x20U) != 0) {
    const std::size_t length = packet[head_size];
    head.payload += 1 + length;
    if (head.payload > ts_packet_size) return std::nullopt;
    const auto field = packet.subspan(head_size + 1, length);
    head.discontinuous = !field.empty() && (field[0] & discontinuity_flag) != 0;
    head.stuffed = has_stuffing(field);
  }
  if ((packet[3] & 0x10U) == 0) head.payload = ts_packet_size;
  return head;
}

std::optional<int> type_in_map(TsPacket packet, const TsHead& head, unsigned pid) {
  constexpr std::uint8_t map_table = 2;
  constexpr std::size_t fixed = 12;  // before descriptors and streams
  constexpr std::size_t checksum = 4;
  std::span<const std::uint8_t> section = packet.subspan(std::min(head.payload, packet.size()));
  if (!head.begins || section.empty() || section.size() < 1 + std::size_t{section[0]}) return std::nullopt;
  section = section.subspan(1 + std::size_t{section[0]});
  const auto twelve_bits = [&section](std::size_t at) {
    return std::size_t{section[at] & 0x0fU} << 8U | section[at + 1];
  };
  if (section.size() < fixed + checksum || section[0] != map_table) return std::nullopt;
  const std::size_t end = 3 + twelve_bits(1);
  const bool applies_now = (section[5] & 1U) != 0;
  if (end > section.size() || end < fixed + checksum || !applies_now) return std::nullopt;
  constexpr std::size_t entry = 5;
  for (std::size_t at = fixed + twelve_bits(10); at + entry + checksum <= end; at += entry + twelve_bits(at + 3)) {
    if (((section[at + 1] & 0x1fU) << 8U | section[at + 2]) == pid) return section[at];
  }
  return not_listed;
}

std::array<std::uint8_t, ts_packet_size> end_of_pes(unsigned pid, unsigned counter) {
  constexpr std::array<std::uint8_t, 6> padding_stream{0, 0, 1, 0xbe, 0, 0};
  constexpr std::size_t field = ts_packet_size - head_size - 1 - padding_stream.size();
  std::array<std::uint8_t, ts_packet_size> packet;
  packet.fill(0xff);
  packet[0] = ts_sync;
  packet[1] = static_cast<std::uint8_t>(0x40U | (pid >> 8U & 0x1fU));
  packet[2] = static_cast<std::uint8_t>(pid);
  packet[3] = static_cast<std::uint8_t>(0x30U | (counter & 0x0fU));
  packet[4] = static_cast<std::uint8_t>(field);
  packet[5] = discontinuity_flag;
  std::ranges::copy(padding_stream, packet.end() - padding_stream.size());
  return packet;
}

}  // namespace campipe
