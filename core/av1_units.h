// The units of a packet of AV1, and of its header in a container (open bitstream units; AV1 bitstream specification,
// 5.3). Anybody's bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace campipe {

struct Av1Unit {
  unsigned type = 0;
  std::span<const std::uint8_t> content = {};  // behind its header
  bool whole = true;                           // false: it says that it is longer than what there is
};

// Takes the first unit off the front of `bytes`; one without a size reaches to the end. Nothing: there are none.
inline std::optional<Av1Unit> take_av1_unit(std::span<const std::uint8_t>& bytes) {
  if (bytes.empty()) return std::nullopt;
  const std::uint8_t header = bytes.front();
  const bool extended = (header & 4U) != 0;
  const bool sized = (header & 2U) != 0;
  Av1Unit unit{.type = header >> 3U & 15U};
  bytes = bytes.subspan(std::min<std::size_t>(extended ? 2 : 1, bytes.size()));
  std::uint64_t size = bytes.size();
  if (sized) {  // leb128()
    constexpr std::size_t most = 8;
    size = 0;
    std::size_t at = 0;
    bool more = true;
    for (; more && at < std::min(most, bytes.size()); ++at) {
      size |= std::uint64_t{bytes[at] & 127U} << (7 * at);
      more = (bytes[at] & 128U) != 0;
    }
    unit.whole = !more || at == most;
    bytes = bytes.subspan(at);
  }
  unit.whole = unit.whole && size <= bytes.size();
  unit.content = bytes.first(std::min<std::uint64_t>(size, bytes.size()));
  bytes = bytes.subspan(unit.content.size());
  return unit;
}

}  // namespace campipe
