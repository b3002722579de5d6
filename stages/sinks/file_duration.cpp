#include "stages/sinks/file_duration.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "core/big_endian.h"
#include "core/error.h"
#include "core/ffmpeg.h"
#include "stages/sinks/ebml.h"
#include "stages/sinks/mp4_boxes.h"

extern "C" {
#include <libavutil/crc.h>
}

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t mehd_size = 20;

std::uint64_t movie_timescale(Bytes file, const Box& moov) {
  const auto mvhd = find_inside(file, moov, "mvhd");
  if (!mvhd || mvhd->begin + 32 > file.size()) return 0;
  const bool long_times = file[mvhd->begin + box_head] == 1;  // the version
  return get_big_endian(&file[mvhd->begin + (long_times ? 28 : 20)], 4);
}

// ISO/IEC 14496-12, 8.8.2: the box `mehd` in `mvex` has the length of a movie in fragments. Its place is taken by a
// box that is free until then.
void reserve_in_mp4(std::vector<std::uint8_t>& header) {
  const auto moov = find_box(header, 0, header.size(), "moov");
  const auto mvex = moov ? find_inside(header, *moov, "mvex") : std::nullopt;
  if (!mvex) throw Error("an MP4 header without fragments");
  put_big_endian(moov->size + mehd_size, 4, &header[moov->begin]);
  put_big_endian(mvex->size + mehd_size, 4, &header[mvex->begin]);
  std::vector<std::uint8_t> room;
  put(room, mehd_size, 4);
  put(room, "free");
  room.resize(mehd_size);
  header.insert(header.begin() + static_cast<std::ptrdiff_t>(mvex->begin + box_head), room.begin(), room.end());
}

std::optional<FilePatch> mp4_patch(Bytes head, std::int64_t ns) {
  const auto moov = find_box(head, 0, head.size(), "moov");
  const auto mvex = moov ? find_inside(head, *moov, "mvex") : std::nullopt;
  auto room = mvex ? find_inside(head, *mvex, "free") : std::nullopt;
  if (mvex && !room) room = find_inside(head, *mvex, "mehd");  // of a process that died right behind this
  if (!room || room->size != mehd_size) return std::nullopt;
  const auto timescale = movie_timescale(head, *moov);
  if (timescale == 0 || timescale > INT32_MAX) return std::nullopt;
  const auto duration = av_rescale_q(ns, nanoseconds, {1, static_cast<int>(timescale)});
  FilePatch patch{room->begin, {}};
  put(patch.bytes, mehd_size, 4);
  put(patch.bytes, "mehd");
  put(patch.bytes, std::uint64_t{1} << 24U, 4);  // version 1: 64 bits
  put(patch.bytes, static_cast<std::uint64_t>(duration), 8);
  return patch;
}

struct Element {
  std::uint64_t id = 0;
  std::size_t begin = 0;     // from the start of the file
  std::size_t contents = 0;  // likewise
  std::size_t end = 0;       // likewise; the end of the file where the size is not known
};

std::optional<Element> element_at(Bytes file, std::size_t at) {
  const auto head = element_head(file, at);
  if (!head) return std::nullopt;
  Element element{head->id, at, at + head->length, file.size()};
  if (head->size && *head->size <= file.size() - element.contents) element.end = element.contents + *head->size;
  return element;
}

// The first one from `begin` to `end` of which this is true. One that reaches farther is damaged, as is what follows
// it.
template <typename Condition>
std::optional<Element> find_element(Bytes file, std::size_t begin, std::size_t end, const Condition& condition) {
  while (begin < end) {
    const auto element = element_at(file, begin);
    if (!element || element->end > end) return std::nullopt;
    if (condition(*element)) return element;
    begin = element->end;
  }
  return std::nullopt;
}

std::optional<Element> find_by_id(Bytes file, std::size_t begin, std::size_t end, std::uint64_t id) {
  return find_element(file, begin, end, [id](const Element& element) { return element.id == id; });
}

// As the element CRC-32, which comes first and is of all that follows.
std::uint32_t checksum(Bytes bytes) {
  const AVCRC* table = av_crc_get_table(AV_CRC_32_IEEE_LE);
  return av_crc(table, UINT32_MAX, bytes.data(), bytes.size()) ^ UINT32_MAX;
}

// RFC 9559: in the element Info, libavformat leaves room for the Duration. Info may begin with a checksum.
std::optional<FilePatch> mkv_patch(Bytes head, std::int64_t ns) {
  constexpr std::size_t duration_size = 11;
  constexpr std::uint64_t duration_id = 0x4489;
  const auto is_room = [](const Element& e) {
    return (e.id == 0xEC || e.id == duration_id) && e.end - e.begin == duration_size;
  };
  const auto segment = find_by_id(head, 0, head.size(), 0x18538067);
  const auto info = segment ? find_by_id(head, segment->contents, segment->end, 0x1549A966) : std::nullopt;
  const auto room = info ? find_element(head, info->contents, info->end, is_room) : std::nullopt;
  if (!room) return std::nullopt;
  const Bytes contents = head.subspan(info->contents, info->end - info->contents);
  FilePatch patch{info->contents, {contents.begin(), contents.end()}};
  std::uint8_t* const duration = &patch.bytes[room->begin - info->contents];
  put_big_endian(duration_id << 8U | 0x88, 3, duration);  // of 8 bytes, in units of 1 ms
  put_big_endian(std::bit_cast<std::uint64_t>(static_cast<double>(ns) / 1e6), 8, duration + 3);
  const auto crc = element_at(head, info->contents);
  if (!crc || crc->id != 0xBF || crc->end - crc->contents != 4 || crc->end > info->end) return patch;
  const std::uint32_t sum = checksum(Bytes(patch.bytes).subspan(crc->end - info->contents));
  for (unsigned i = 0; i < 4; ++i) {
    patch.bytes[crc->contents - info->contents + i] = static_cast<std::uint8_t>(sum >> (8 * i));
  }
  return patch;
}

}  // namespace

void reserve_duration(Container container, std::vector<std::uint8_t>& header) {
  if (container == Container::mp4) reserve_in_mp4(header);
}

std::optional<FilePatch> duration_patch(Container container, std::span<const std::uint8_t> head, std::int64_t ns) {
  return container == Container::mp4 ? mp4_patch(head, ns) : mkv_patch(head, ns);
}

}  // namespace campipe
