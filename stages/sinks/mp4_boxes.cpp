#include "stages/sinks/mp4_boxes.h"

#include <algorithm>

#include "core/big_endian.h"
#include "core/error.h"

namespace campipe {

std::optional<Box> find_box(std::span<const std::uint8_t> bytes, std::size_t begin, std::size_t end,
                            std::string_view name) {
  end = std::min(end, bytes.size());
  while (begin + box_head <= end) {
    const std::size_t size = get_big_endian(&bytes[begin], 4);
    if (size < box_head) return std::nullopt;
    if (std::equal(name.begin(), name.end(), &bytes[begin + 4])) return Box{begin, std::min(size, end - begin)};
    begin += size;
  }
  return std::nullopt;
}

std::optional<Box> find_inside(std::span<const std::uint8_t> bytes, const Box& box, std::string_view name) {
  return find_box(bytes, box.begin + box_head, box.begin + box.size, name);
}

std::vector<BoxView> boxes_in(std::span<const std::uint8_t> bytes) {
  std::vector<BoxView> boxes;
  while (bytes.size() >= box_head) {
    const std::size_t size = get_big_endian(bytes.data(), 4);
    if (size < box_head || size > bytes.size()) break;
    boxes.push_back({{static_cast<const char*>(static_cast<const void*>(&bytes[4])), 4}, bytes.first(size)});
    bytes = bytes.subspan(size);
  }
  return boxes;
}

void put(std::vector<std::uint8_t>& bytes, std::uint64_t value, int size) {
  bytes.resize(bytes.size() + static_cast<std::size_t>(size));
  put_big_endian(value, size, bytes.data() + bytes.size() - static_cast<std::size_t>(size));
}

void put(std::vector<std::uint8_t>& bytes, std::string_view name) {
  bytes.insert(bytes.end(), name.begin(), name.end());
}

void put(std::vector<std::uint8_t>& bytes, std::span<const std::uint8_t> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

void put_box(std::vector<std::uint8_t>& bytes, std::string_view name, std::span<const std::uint8_t> contents) {
  if (contents.size() > UINT32_MAX - box_head) throw Error("a box of MP4 is longer than 4 GiB");
  put(bytes, box_head + contents.size(), 4);
  put(bytes, name);
  put(bytes, contents);
}

void insert_room(std::vector<std::uint8_t>& bytes, std::size_t at, std::size_t size) {
  std::vector<std::uint8_t> room;
  put_box(room, "free", std::vector<std::uint8_t>(size - box_head));
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), room.begin(), room.end());
}

}  // namespace campipe
