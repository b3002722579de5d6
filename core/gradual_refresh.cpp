#include "core/gradual_refresh.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/bit_reader.h"
#include "core/nal_units.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr unsigned most_frames = 1024;
constexpr std::size_t most_bytes = 4096;   // of messages that are looked through
constexpr unsigned supplemental = 6;       // a unit's type, ITU-T H.264 table 7-1
constexpr std::size_t recovery_point = 6;  // a message's type, ITU-T H.264 D.1
constexpr std::uint8_t end_of_messages = 0x80;

// Without the bytes that keep it from looking like a start code.
std::vector<std::uint8_t> payload_of(Bytes unit) {
  std::vector<std::uint8_t> bytes;
  BitReader in(unit.subspan(1).first(std::min(unit.size() - 1, most_bytes)));
  for (unsigned byte = in.bits(8); !in.has_ended(); byte = in.bits(8)) bytes.push_back(static_cast<std::uint8_t>(byte));
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

// recovery_frame_cnt, with which the message begins.
unsigned recovery_frames(Bytes message) {
  BitReader in(message, BitReader::Of::plain_bytes);
  const unsigned frames = in.number();
  return in.has_ended() ? most_frames : std::min(frames, most_frames);
}

int frames_in(const std::vector<std::uint8_t>& messages) {
  Bytes rest(messages);
  while (rest.size() > 2 && rest.front() != end_of_messages) {
    const std::size_t type = take_number(rest);
    const std::size_t size = take_number(rest);
    if (size > rest.size()) return 0;
    if (type == recovery_point) return static_cast<int>(recovery_frames(rest.first(size)));
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
