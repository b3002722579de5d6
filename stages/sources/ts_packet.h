// Packets of an MPEG transport stream (ISO/IEC 13818-1, 2.4.3): their heads, and one of our own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace campipe {

inline constexpr std::size_t ts_packet_size = 188;
inline constexpr std::uint8_t ts_sync = 0x47;
using TsPacket = std::span<const std::uint8_t, ts_packet_size>;

struct TsHead {
  unsigned pid = 0;
  unsigned counter = 0;        // of packets with a payload, by 16
  bool begins = false;         // its payload begins a PES packet or a section
  bool discontinuous = false;  // its counter need not follow the one before
  bool damaged = false;        // as a receiver has marked it
  bool stuffed = false;        // it has bytes that mean nothing, and so less payload than there was room for
  std::size_t payload = 0;     // where that begins; the packet's size: it has none
};
// Nothing: it is not a whole packet.
std::optional<TsHead> read_ts_head(TsPacket packet);

// As what a packet that begins a programme map (2.4.4.8) lists a stream: its stream_type; not_listed: it does not.
// Nothing: it is no such packet, or the map is not whole in it.
inline constexpr int not_listed = -1;
std::optional<int> type_in_map(TsPacket packet, const TsHead& head, unsigned pid);

// Behind a packet with that counter: a PES packet of nothing but its own head, by which a reader that waits for the
// next one has the whole of the one before. The counters of what follows are right as they are.
std::array<std::uint8_t, ts_packet_size> end_of_pes(unsigned pid, unsigned counter);

}  // namespace campipe
