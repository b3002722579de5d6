// The index of a Matroska file (RFC 9559): the element Cues has, for each cluster in which decoding can begin, the
// first frame of that kind. A SeekHead in room that libavformat leaves at the beginning says where Cues are.
#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "stages/sinks/ebml.h"
#include "stages/sinks/file_index.h"
#include "stages/sinks/mp4_boxes.h"

namespace campipe {
namespace {

using ByteVector = std::vector<std::uint8_t>;

constexpr std::size_t longest_element_head = 12;  // of an element
constexpr std::size_t least_room = 96;            // SeekHead of three, and what is left
constexpr std::size_t most_cues = 1U << 20U;      // for memory: days, where each frame is a key frame
constexpr std::size_t most_elements = 1'000;      // before the first cluster
constexpr std::size_t video_track = 1;            // the track

void put_element_id(ByteVector& out, std::uint32_t id) {
  const int size = id > 0xFFFFFF ? 4 : id > 0xFF ? 2 : 1;
  put(out, id, size);
}

// Sizes take 8 bytes, as libavformat writes them where it does not know better.
void put_element(ByteVector& out, std::uint32_t id, std::span<const std::uint8_t> contents) {
  put_element_id(out, id);
  put(out, contents.size() | std::uint64_t{1} << 56U, 8);
  put(out, contents);
}

void put_number(ByteVector& out, std::uint32_t id, std::uint64_t value, int size) {
  put_element_id(out, id);
  put(out, 0x80U | static_cast<unsigned>(size), 1);
  put(out, value, size);
}

class FileIndexOfMatroska final : public FileIndex {
 public:
  std::size_t piece() const override { return 256; }  // of a block only its head counts

  bool follow(FileReader& file, std::uint64_t end) override {
    possible_ = possible_ && (room_ > 0 || begin(file, end)) && take(file, end);
    return possible_;
  }

  std::uint64_t taken() const override { return taken_; }

  bool is_all(FileReader& file, std::uint64_t end) override {
    const auto next = head_at(file, taken_);
    return !cues_.empty() && (taken_ == end || (next && next->id == MatroskaId::cues));
  }

  bool is_there(FileReader& file) override {
    const auto segment = segment_of(file);
    const auto first = segment ? head_at(file, *segment) : std::nullopt;
    return first && first->id == MatroskaId::seek_head;
  }

  ByteVector make(std::optional<std::int64_t>) override {
    ByteVector points;
    for (const Cue& cue : cues_) {
      ByteVector positions;
      put_number(positions, MatroskaId::cue_track, video_track, 1);
      put_number(positions, MatroskaId::cue_cluster, cue.cluster - segment_, 8);
      ByteVector point;
      put_number(point, MatroskaId::cue_time, cue.time, 8);
      put_element(point, MatroskaId::cue_positions, positions);
      put_element(points, MatroskaId::cue_point, point);
    }
    ByteVector out;
    put_element(out, MatroskaId::cues, points);
    return out;
  }

  FilePatch patch() const override {
    ByteVector seeks;
    const auto put_seek = [&](std::uint32_t id, std::uint64_t at) {
      ByteVector contents;
      put_number(contents, MatroskaId::seek_id, id, 4);
      put_number(contents, MatroskaId::seek_position, at - segment_, 8);
      put_element_id(seeks, MatroskaId::seek);
      put(seeks, 0x80U | contents.size(), 1);
      put(seeks, contents);
    };
    put_seek(MatroskaId::information, information_);
    put_seek(MatroskaId::tracks, tracks_);
    put_seek(MatroskaId::cues, taken_);
    FilePatch patch{static_cast<std::size_t>(segment_), {}};
    put_element_id(patch.bytes, MatroskaId::seek_head);
    put(patch.bytes, 0x80U | seeks.size(), 1);
    put(patch.bytes, seeks);
    ByteVector rest;
    put_element(rest, MatroskaId::nothing, ByteVector(room_ - patch.bytes.size() - 9));
    put(patch.bytes, rest);
    return patch;
  }

 private:
  struct Cue {
    std::uint64_t time = 0;     // ms
    std::uint64_t cluster = 0;  // where it begins
  };

  static std::optional<ElementHead> head_at(FileReader& file, std::uint64_t at) {
    return element_head(file.read(at, longest_element_head));
  }

  // Where its contents begin.
  static std::optional<std::uint64_t> segment_of(FileReader& file) {
    const auto first = head_at(file, 0);
    if (!first || first->id != MatroskaId::header || !first->size) return std::nullopt;
    const std::uint64_t at = first->length + *first->size;
    const auto found = head_at(file, at);
    return found && found->id == MatroskaId::segment ? std::optional(at + found->length) : std::nullopt;
  }

  bool begin(FileReader& file, std::uint64_t end) {
    const auto found = segment_of(file);
    if (!found) return false;
    segment_ = *found;
    const auto room = head_at(file, segment_);
    if (!room || room->id != MatroskaId::nothing || !room->size) return false;
    const std::uint64_t size = room->length + *room->size;
    if (size < least_room || size > UINT16_MAX) return false;
    std::uint64_t at = segment_ + size;
    for (std::size_t i = 0; i < most_elements; ++i) {
      const auto head = head_at(file, at);
      if (!head || at >= end || head->id == MatroskaId::cluster) break;
      if (!head->size || *head->size > end) return false;
      if (head->id == MatroskaId::information) information_ = at;
      if (head->id == MatroskaId::tracks) tracks_ = at;
      at += head->length + *head->size;
    }
    if (information_ == 0 || tracks_ == 0 || at > end) return false;
    room_ = size;
    taken_ = at;
    return true;
  }

  bool take(FileReader& file, std::uint64_t end) {
    while (taken_ < end) {
      const auto head = head_at(file, taken_);
      if (!head || head->id != MatroskaId::cluster || !head->size || *head->size > end - taken_ - head->length) break;
      const std::uint64_t next = taken_ + head->length + *head->size;
      if (const auto time = first_key(file, taken_ + head->length, next)) cues_.push_back({*time, taken_});
      if (cues_.size() > most_cues) return false;
      taken_ = next;
    }
    return true;
  }

  // Of a cluster: when its first key frame of the video is shown.
  static std::optional<std::uint64_t> first_key(FileReader& file, std::uint64_t at, std::uint64_t end) {
    std::uint64_t time = 0;
    while (at < end) {
      const auto bytes = file.read(at, longest_element_head + 8);
      const auto head = element_head(bytes);
      if (!head || !head->size || *head->size > end - at - head->length) return std::nullopt;
      const auto contents = bytes.subspan(head->length);
      if (head->id == MatroskaId::cluster_time && *head->size <= contents.size() && *head->size > 0 && *head->size <= 8)
        time = get_big_endian(contents.data(), static_cast<int>(*head->size));
      if (head->id == MatroskaId::simple_block && *head->size >= 4 && contents.size() >= 4) {
        constexpr unsigned is_key = 0x80;
        const auto after = static_cast<std::int16_t>(get_big_endian(&contents[1], 2));
        if (contents[0] == (0x80U | video_track) && (contents[3] & is_key) != 0)
          return time + static_cast<std::uint64_t>(std::int64_t{after});
      }
      at += head->length + *head->size;
    }
    return std::nullopt;
  }

  bool possible_ = true;
  std::uint64_t segment_ = 0;  // where its contents begin, and the room in them
  std::size_t room_ = 0;       // bytes
  std::uint64_t information_ = 0;
  std::uint64_t tracks_ = 0;
  std::uint64_t taken_ = 0;
  std::vector<Cue> cues_;
};

}  // namespace

std::unique_ptr<FileIndex> index_of_matroska() { return std::make_unique<FileIndexOfMatroska>(); }

}  // namespace campipe
