// When frames of an MP4 file were taken, by its boxes `prft` (ISO/IEC 14496-12).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/big_endian.h"

namespace campipe::test {

using Bytes = std::vector<std::uint8_t>;

struct ProducerTime {
  std::int64_t utc = 0;  // ns
  double shown = 0;      // s, in a track of 90,000 ticks
};

// Of each box `prft` between the boxes of `bytes`. Behind each comes a fragment.
inline std::vector<ProducerTime> producer_times(const Bytes& bytes) {
  std::vector<ProducerTime> found;
  bool expects_fragment = false;
  for (std::size_t at = 0; at + 8 <= bytes.size();) {
    const auto size = static_cast<std::size_t>(get_big_endian(&bytes[at], 4));
    const std::string name(reinterpret_cast<const char*>(&bytes[at + 4]), 4);
    if (std::exchange(expects_fragment, name == "prft")) {
      EXPECT_EQ(name, "moof");
    }
    if (name == "prft") {
      EXPECT_EQ(size, 32U);
      EXPECT_EQ(get_big_endian(&bytes[at + 8], 4), 0x01000018U) << "of what is seen";
      EXPECT_EQ(get_big_endian(&bytes[at + 12], 4), 1U) << "of the first track";
      const auto seconds = static_cast<std::int64_t>(get_big_endian(&bytes[at + 16], 4)) - 2'208'988'800;
      const auto fraction = static_cast<long double>(get_big_endian(&bytes[at + 20], 4)) * 1e9L / 4'294'967'296.0L;
      found.push_back({seconds * 1'000'000'000 + std::llround(fraction),
                       static_cast<double>(get_big_endian(&bytes[at + 24], 8)) / 90'000});
    }
    const bool has_ended = name == "mdat" && size == 1;  // a recording: what it was before is in this box
    if (!has_ended && size < 8) break;
    at += has_ended ? 16 : size;
  }
  return found;
}

inline Bytes bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace campipe::test
