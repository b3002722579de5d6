#include "core/gradual_refresh.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/nal_units.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr int most_frames = 1024;
constexpr std::size_t most_bytes = 4096;   // of messages that are looked through
constexpr unsigned supplemental = 6;       // a unit's type, ITU-T H.264 table 7-1
constexpr std::size_t recovery_point = 6;  // a message's type, ITU-T H.264 D.1
constexpr std::uint8_t end_of_messages = 0x80;

// Without the bytes that keep it from looking like a start code.
std::vector<std::uint8_t> payload_of(Bytes unit) {
  std::vector<std::uint8_t> bytes;
  int zeros = 0;
  for (const std::uint8_t byte : unit.subspan(1).first(std::min(unit.size() - 1, most_bytes))) {
    const bool inserted = zeros >= 2 && byte == 3;
    zeros = byte == 0 ? zeros + 1 : 0;
    if (!inserted) bytes.push_back(byte);
  }
  return bytes;
}

// A type or a size; nothing is left where it does not end.
std::size_t take_number(Bytes& bytes) {
  std::size_t number = 0;
  while (!bytes.empty()) {
    const std::uint8_t byte = bytes.front();
    bytes = bytes.subspan(1);
    number += byte;
    if (byte != 0xff) break;
  }
  return number;
}

// An Exp-Golomb code of at most 32 bits.
std::uint32_t first_code(Bytes bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof bits; ++i) bits = bits << 8U | (i < bytes.size() ? bytes[i] : 0U);
  const int zeros = std::countl_zero(bits);
  if (zeros > 15) return most_frames;
  return static_cast<std::uint32_t>((bits << static_cast<unsigned>(zeros)) >> (63U - static_cast<unsigned>(zeros))) - 1;
}

int frames_in(const std::vector<std::uint8_t>& messages) {
  Bytes rest(messages);
  while (rest.size() > 2 && rest.front() != end_of_messages) {
    const std::size_t type = take_number(rest);
    const std::size_t size = take_number(rest);
    if (size > rest.size()) return 0;
    if (type == recovery_point)
      return static_cast<int>(std::min<std::uint32_t>(first_code(rest.first(size)), most_frames));
    rest = rest.subspan(size);
  }
  return 0;
}

}  // namespace

int frames_until_right(const AVCodecParameters& codec, const AVPacket& key_frame) {
  int frames = 0;
  if (codec.codec_id != AV_CODEC_ID_H264) return frames;
  each_nal_unit(codec, key_frame, [&](Bytes unit) {
    const unsigned type = unit.front() & 31U;
    if (type == supplemental) frames = std::max(frames, frames_in(payload_of(unit)));
    if (type == 5) frames = 0;
    return type < 1 || type > 5;
  });
  return frames;
}

}  // namespace campipe
