// The elements that a Matroska file consists of: EBML (RFC 8794), and their ids (RFC 9559).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/big_endian.h"

namespace campipe {

struct MatroskaId {
  static constexpr std::uint32_t header = 0x1A45DFA3;
  static constexpr std::uint32_t segment = 0x18538067;
  static constexpr std::uint32_t seek_head = 0x114D9B74;
  static constexpr std::uint32_t seek = 0x4DBB;
  static constexpr std::uint32_t seek_id = 0x53AB;
  static constexpr std::uint32_t seek_position = 0x53AC;
  static constexpr std::uint32_t information = 0x1549A966;
  static constexpr std::uint32_t tracks = 0x1654AE6B;
  static constexpr std::uint32_t cluster = 0x1F43B675;
  static constexpr std::uint32_t cluster_time = 0xE7;
  static constexpr std::uint32_t simple_block = 0xA3;
  static constexpr std::uint32_t cues = 0x1C53BB6B;
  static constexpr std::uint32_t cue_point = 0xBB;
  static constexpr std::uint32_t cue_time = 0xB3;
  static constexpr std::uint32_t cue_positions = 0xB7;
  static constexpr std::uint32_t cue_track = 0xF7;
  static constexpr std::uint32_t cue_cluster = 0xF1;
  static constexpr std::uint32_t nothing = 0xEC;
  static constexpr std::uint32_t checksum = 0xBF;
  static constexpr std::uint32_t duration = 0x4489;
  static constexpr std::uint32_t date = 0x4461;
};

struct ElementHead {
  std::uint64_t id = 0;
  std::size_t length = 0;             // of the head
  std::optional<std::uint64_t> size;  // of the contents; nothing: not known
};

// A number that begins with its own length. Nothing: it is cut off, or longer than 8 bytes.
inline std::optional<std::size_t> length_of_number(std::span<const std::uint8_t> bytes, std::size_t at) {
  if (at >= bytes.size()) return std::nullopt;
  const auto length = static_cast<std::size_t>(std::countl_zero(bytes[at])) + 1;
  return length > 8 || at + length > bytes.size() ? std::nullopt : std::optional(length);
}

// Nothing: it is cut off.
inline std::optional<ElementHead> element_head(std::span<const std::uint8_t> bytes, std::size_t at = 0) {
  const auto id = length_of_number(bytes, at);
  const auto size = id ? length_of_number(bytes, at + *id) : std::nullopt;
  if (!size) return std::nullopt;
  const std::uint64_t unknown = (std::uint64_t{1} << (7 * *size)) - 1;
  const std::uint64_t value = get_big_endian(&bytes[at + *id], static_cast<int>(*size)) & unknown;
  return ElementHead{get_big_endian(&bytes[at], static_cast<int>(*id)), *id + *size,
                     value == unknown ? std::nullopt : std::optional(value)};
}

}  // namespace campipe
