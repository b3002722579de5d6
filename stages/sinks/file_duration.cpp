#include "stages/sinks/file_duration.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "core/big_endian.h"
#include "core/error.h"
#include "core/ffmpeg.h"
#include "core/nanoseconds.h"
#include "stages/sinks/ebml.h"
#include "stages/sinks/mp4_boxes.h"

extern "C" {
#include <libavutil/crc.h>
}

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t mehd_size = 20;

// The box `mvhd`, as far as its first two times.
struct MovieHeader {
  std::uint64_t made = 0;  // s, from the beginning of 1904
  std::uint64_t timescale = 0;
};

std::optional<MovieHeader> movie_header(Bytes file, const Box& moov) {
  const auto mvhd = find_inside(file, moov, "mvhd");
  if (!mvhd || mvhd->begin + 32 > file.size()) return std::nullopt;
  const bool long_times = file[mvhd->begin + box_head] == 1;  // the version
  return MovieHeader{get_big_endian(&file[mvhd->begin + 12], long_times ? 8 : 4),
                     get_big_endian(&file[mvhd->begin + (long_times ? 28 : 20)], 4)};
}

// ISO/IEC 14496-12, 8.8.2: the box `mehd` in `mvex` has the length of a movie in fragments. Its place is taken by a
// box that is free until then.
void reserve_in_mp4(std::vector<std::uint8_t>& header) {
  const auto moov = find_box(header, 0, header.size(), "moov");
  const auto mvex = moov ? find_inside(header, *moov, "mvex") : std::nullopt;
  if (!mvex) throw Error("an MP4 header without fragments");
  put_big_endian(moov->size + mehd_size, 4, &header[moov->begin]);
  put_big_endian(mvex->size + mehd_size, 4, &header[mvex->begin]);
  insert_room(header, mvex->begin + box_head, mehd_size);
}

std::optional<FilePatch> mp4_patch(Bytes head, std::int64_t ns) {
  const auto moov = find_box(head, 0, head.size(), "moov");
  const auto mvex = moov ? find_inside(head, *moov, "mvex") : std::nullopt;
  auto room = mvex ? find_inside(head, *mvex, "free") : std::nullopt;
  if (mvex && !room) room = find_inside(head, *mvex, "mehd");  // of a process that died right behind this
  if (!room || room->size != mehd_size) return std::nullopt;
  const auto movie = movie_header(head, *moov);
  if (!movie || movie->timescale == 0 || movie->timescale > INT32_MAX) return std::nullopt;
  const auto duration = av_rescale_q(ns, nanoseconds, {1, static_cast<int>(movie->timescale)});
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
  const auto is_room = [](const Element& e) {
    return (e.id == MatroskaId::nothing || e.id == MatroskaId::duration) && e.end - e.begin == duration_size;
  };
  const auto segment = find_by_id(head, 0, head.size(), MatroskaId::segment);
  const auto info = segment ? find_by_id(head, segment->contents, segment->end, MatroskaId::information) : std::nullopt;
  const auto room = info ? find_element(head, info->contents, info->end, is_room) : std::nullopt;
  if (!room) return std::nullopt;
  const Bytes contents = head.subspan(info->contents, info->end - info->contents);
  FilePatch patch{info->contents, {contents.begin(), contents.end()}};
  std::uint8_t* const duration = &patch.bytes[room->begin - info->contents];
  put_big_endian(MatroskaId::duration << 8U | 0x88, 3, duration);  // of 8 bytes, in units of 1 ms
  put_big_endian(std::bit_cast<std::uint64_t>(static_cast<double>(ns) / 1e6), 8, duration + 3);
  const auto crc = element_at(head, info->contents);
  if (!crc || crc->id != MatroskaId::checksum || crc->end - crc->contents != 4 || crc->end > info->end) return patch;
  const std::uint32_t sum = checksum(Bytes(patch.bytes).subspan(crc->end - info->contents));
  for (unsigned i = 0; i < 4; ++i) {
    patch.bytes[crc->contents - info->contents + i] = static_cast<std::uint8_t>(sum >> (8 * i));
  }
  return patch;
}

std::optional<std::int64_t> utc_in_mp4(Bytes head) {
  constexpr std::uint64_t until_1970 = 2'082'844'800;
  auto moov = find_box(head, 0, head.size(), "moov");
  const auto type = find_box(head, 0, head.size(), "ftyp");
  if (!moov && type) {  // of a file that has ended: it is in the mdat
    moov = find_box(head, type->begin + type->size + long_box_head, head.size(), "moov");
  }
  const auto movie = moov && find_inside(head, *moov, "mvex") ? movie_header(head, *moov) : std::nullopt;
  constexpr auto most = static_cast<std::uint64_t>(INT64_MAX / ns_per_s);
  if (!movie || movie->made <= until_1970 || movie->made - until_1970 > most) return std::nullopt;
  return static_cast<std::int64_t>(movie->made - until_1970) * ns_per_s;
}

// DateUTC: from the beginning of 2001, in ns.
std::optional<std::int64_t> utc_in_mkv(Bytes head) {
  constexpr std::int64_t until_2001 = 978'307'200 * ns_per_s;
  const auto segment = find_by_id(head, 0, head.size(), MatroskaId::segment);
  const auto info = segment ? find_by_id(head, segment->contents, segment->end, MatroskaId::information) : std::nullopt;
  const auto date = info ? find_by_id(head, info->contents, info->end, MatroskaId::date) : std::nullopt;
  if (!date || date->end - date->contents != 8) return std::nullopt;
  const auto ns = static_cast<std::int64_t>(get_big_endian(&head[date->contents], 8));
  return ns > INT64_MAX - until_2001 || ns < -until_2001 ? std::nullopt : std::optional(ns + until_2001);
}

}  // namespace

std::optional<std::int64_t> utc_in_header(Container container, std::span<const std::uint8_t> head) {
  return container == Container::mp4 ? utc_in_mp4(head) : utc_in_mkv(head);
}

void reserve_duration(Container container, std::vector<std::uint8_t>& header) {
  if (container == Container::mp4) reserve_in_mp4(header);
}

std::optional<FilePatch> duration_patch(Container container, std::span<const std::uint8_t> head, std::int64_t ns) {
  return container == Container::mp4 ? mp4_patch(head, ns) : mkv_patch(head, ns);
}

}  // namespace campipe
