// The frames of an MPEG transport stream, to be sent one by one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace campipe::test {

// In parts that begin with a PES packet of that stream, but for the first one, which has what comes before.
inline std::vector<std::string> ts_frames(const std::string& stream, unsigned pid) {
  constexpr std::size_t size = 188;
  std::vector<std::string> parts{""};
  bool any = false;
  for (std::size_t at = 0; at + size <= stream.size(); at += size) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(stream[at + i])); };
    const bool begins = (byte(1) & 0x40U) != 0 && ((byte(1) & 0x1fU) << 8U | byte(2)) == pid;
    if (begins && any) parts.emplace_back();
    any = any || begins;
    parts.back() += stream.substr(at, size);
  }
  return parts;
}

}  // namespace campipe::test
