// The boxes that an MP4 file consists of (ISO/IEC 14496-12, 4.2): finding them, and making them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace campipe {

inline constexpr std::size_t box_head = 8;        // size and name
inline constexpr std::size_t long_box_head = 16;  // of a box of any size: 1, name and the size

struct Box {
  std::size_t begin = 0;  // from the start of the bytes
  std::size_t size = 0;   // with its head
};

// The box `name` among those from `begin` to `end`, as far as it lies there.
std::optional<Box> find_box(std::span<const std::uint8_t> bytes, std::size_t begin, std::size_t end,
                            std::string_view name);
std::optional<Box> find_inside(std::span<const std::uint8_t> bytes, const Box& box, std::string_view name);

// A box, or an element of one, at the beginning of `bytes`.
struct BoxView {
  std::string_view name;
  std::span<const std::uint8_t> whole;
  [[nodiscard]] std::span<const std::uint8_t> contents() const { return whole.subspan(box_head); }
};
// The boxes in `bytes`, up to the first one that does not lie there as a whole.
std::vector<BoxView> boxes_in(std::span<const std::uint8_t> bytes);

void put(std::vector<std::uint8_t>& bytes, std::uint64_t value, int size);
void put(std::vector<std::uint8_t>& bytes, std::string_view name);
void put(std::vector<std::uint8_t>& bytes, std::span<const std::uint8_t> more);
// Throws Error where the contents are longer than 32 bits can say.
void put_box(std::vector<std::uint8_t>& bytes, std::string_view name, std::span<const std::uint8_t> contents);
// Room that is free until something is written there: a box `free` of `size` bytes with its head, before `at`.
void insert_room(std::vector<std::uint8_t>& bytes, std::size_t at, std::size_t size);

}  // namespace campipe
