#include "stages/sinks/file_index.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "core/big_endian.h"
#include "core/error.h"
#include "stages/sinks/mp4_boxes.h"
#include "stages/sinks/mp4_index.h"

namespace campipe {
namespace {

using ByteVector = std::vector<std::uint8_t>;

constexpr std::size_t longest_box = std::size_t{1} << 24U;  // of a fragment, or a file

class FileIndexOfMp4 final : public FileIndex {
 public:
  bool follow(FileReader& file, std::uint64_t end) override {
    if (!possible_) return false;
    try {
      possible_ = (index_ || begin(file, end)) && take(file, end);
    } catch (const SystemError&) {
      throw;
    } catch (const Error&) {  // what another account has put there
      possible_ = false;
    }
    return possible_;
  }

  std::size_t piece() const override { return 8192; }  // the head of a fragment of two seconds

  std::uint64_t taken() const override { return taken_; }

  bool is_all(FileReader& file, std::uint64_t end) override {
    return index_->has_samples() && (taken_ == end || name_at(file, taken_) == "free");
  }

  bool is_there(FileReader& file) override {
    const auto first = file.read(0, box_head);
    if (first.size() < box_head) return false;
    const std::uint64_t room = get_big_endian(first.data(), 4);
    const auto head = box_at(file, room);
    return name_at(file, 0) == "ftyp" && head && head->size == 1 && name_at(file, room) == "mdat";
  }

  ByteVector make(std::optional<std::int64_t> duration) override {
    const ByteVector movie = index_->movie(duration);
    ByteVector out;
    put_box(out, "free", movie);
    return out;
  }

  // The box that was free belongs to the mdat with its head, and the moov in it is seen.
  FilePatch patch() const override {
    FilePatch patch{static_cast<std::size_t>(room_), {}};
    put(patch.bytes, 1, 4);  // the size follows
    put(patch.bytes, "mdat");
    put(patch.bytes, taken_ + box_head - room_, 8);
    return patch;
  }

 private:
  struct Head {
    std::uint64_t size = 0;
    std::uint64_t end = 0;
  };
  static std::optional<Head> box_at(FileReader& file, std::uint64_t at) {
    const auto bytes = file.read(at, box_head);
    if (bytes.size() < box_head) return std::nullopt;
    const std::uint64_t size = get_big_endian(bytes.data(), 4);
    return Head{size, at + size};
  }
  static std::string_view name_at(FileReader& file, std::uint64_t at) {
    const auto bytes = file.read(at, box_head);
    if (bytes.size() < box_head) return {};
    return {static_cast<const char*>(static_cast<const void*>(bytes.data() + 4)), 4};
  }

  bool begin(FileReader& file, std::uint64_t end) {
    const auto type = box_at(file, 0);
    if (!type || name_at(file, 0) != "ftyp" || type->size < box_head) return false;
    const auto room = box_at(file, type->end);
    if (!room || name_at(file, type->end) != "free" || room->size != long_box_head) return false;
    const auto moov = box_at(file, room->end);
    if (!moov || name_at(file, room->end) != "moov" || moov->end > end || moov->size > longest_box) return false;
    const auto bytes = file.read(room->end, moov->size);
    if (bytes.size() < moov->size) return false;
    room_ = type->end;
    index_.emplace(bytes);
    taken_ = moov->end;
    return true;
  }

  // A fragment is a moof and the mdat behind it; before it may stand when it was taken.
  bool take(FileReader& file, std::uint64_t end) {
    std::uint64_t at = taken_;
    while (const auto box = box_at(file, at)) {
      if (box->size < box_head || box->end > end) break;
      const std::string_view name = name_at(file, at);
      if (name == "moof") {
        const auto media = box_at(file, box->end);
        if (!media || media->size < box_head || media->end > end || name_at(file, box->end) != "mdat") break;
        if (box->size > longest_box) return false;
        const auto moof = file.read(at, box->size);
        if (moof.size() < box->size || !index_->add_fragment(moof, at)) return false;
        taken_ = at = media->end;
      } else if (name == "prft") {
        at = box->end;
      } else {
        break;
      }
    }
    return true;
  }

  bool possible_ = true;
  std::uint64_t room_ = 0;
  std::uint64_t taken_ = 0;
  std::optional<Mp4Index> index_;
};

}  // namespace

std::span<const std::uint8_t> FileReader::read(std::uint64_t at, std::size_t size) {
  const bool is_here = at >= begin_ && at - begin_ <= window_.size() && window_.size() - (at - begin_) >= size;
  if (!is_here) {
    window_.resize(std::max(size, at_once_));
    begin_ = at;
    std::size_t done = 0;
    while (done < window_.size()) {
      const ssize_t got = ::pread(fd_, &window_[done], window_.size() - done, static_cast<off_t>(at + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw system_error("cannot read a recording", errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    window_.resize(done);
  }
  const auto from = std::span<const std::uint8_t>(window_).subspan(static_cast<std::size_t>(at - begin_));
  return from.first(std::min(size, from.size()));
}

std::unique_ptr<FileIndex> FileIndex::of(Container container) {
  if (container == Container::mkv) return index_of_matroska();
  return std::make_unique<FileIndexOfMp4>();
}

void reserve_index(Container container, ByteVector& header) {
  if (container != Container::mp4) return;
  const auto moov = find_box(header, 0, header.size(), "moov");
  if (!moov) throw Error("an MP4 header without a movie");
  insert_room(header, moov->begin, long_box_head);
}

}  // namespace campipe
