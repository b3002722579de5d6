#include "stages/sinks/recorder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/big_endian.h"
#include "core/error.h"
#include "core/unique_handle.h"
#include "stages/sinks/file_duration.h"
#include "stages/sinks/file_ending.h"
#include "stages/sinks/file_index.h"
#include "stages/sinks/muxer.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_header = 1 << 16;  // bytes

// Nothing but what a Muxer begins a file with, or a part of that.
bool is_header_of_mp4(std::span<const std::uint8_t> bytes) {
  for (bool first = true; !bytes.empty(); first = false) {
    if (bytes.size() < 8) return !first;
    const std::string_view type(static_cast<const char*>(static_cast<const void*>(&bytes[4])), 4);
    if (type != "ftyp" && type != "moov" && type != "free") return false;
    const std::uint64_t size = get_big_endian(bytes.data(), 4);
    if (size < 8) return false;
    bytes = bytes.subspan(std::min<std::uint64_t>(size, bytes.size()));
  }
  return true;
}

// What only looks like a cluster makes no file disappear.
bool is_header_of_matroska(std::span<const std::uint8_t> bytes) {
  constexpr std::array<std::uint8_t, 4> beginning{0x1a, 0x45, 0xdf, 0xa3};
  constexpr std::array<std::uint8_t, 4> cluster{0x1f, 0x43, 0xb6, 0x75};
  const std::size_t size = std::min(bytes.size(), beginning.size());
  return std::ranges::equal(bytes.first(size), std::span(beginning).first(size)) &&
         std::ranges::search(bytes, cluster).empty();
}

bool is_no_room(int code) { return code == ENOSPC || code == EDQUOT; }

// A disk may have room, and no place for one more file.
bool lacks_inodes(const PathBelow& path) {
  struct statvfs disk {};
  const UniqueFd folder(::open(path.folder.empty() ? "." : path.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return folder && ::fstatvfs(folder.get(), &disk) == 0 && disk.f_files > 0 && disk.f_favail == 0;
}

[[noreturn]] void fail_to_make(const std::string& what, const PathBelow& path, int code) {
  if (code == ENOSPC && lacks_inodes(path)) throw NoRoomError(what + ": its disk has no inodes left", 0);
  if (is_no_room(code)) throw NoRoomError(file_error(what, code).what(), 0);
  throw record_error(what, code);
}

Container container_or_throw(const std::string& path) {
  const auto container = container_of(path);
  if (!container) throw Error(path + ": recordings end in .mp4 or .mkv");
  return *container;
}

// "a/b.mp4", then "a/b-1.mp4", …
PathBelow numbered(const PathBelow& path, int number) {
  if (number == 0) return path;
  const std::string name = path.name;
  const std::size_t ending = name.rfind('.');
  return {path.folder, name.substr(0, ending) + "-" + std::to_string(number) + name.substr(ending)};
}

void make_folders(const PathBelow& path) {
  if (!make_folders_of(path))
    fail_to_make("cannot make the folder " + fs::path(path.whole()).parent_path().string(), path, errno);
}

// In its folders. One that is empty may be deleted at the same time, by who deletes the last file of another recording.
std::pair<UniqueFd, PathBelow> open_new(const PathBelow& path) {
  constexpr int most_tries = 5;
  make_folders(path);
  int tries = 1;
  for (int number = 0;;) {
    PathBelow name = numbered(path, number);
    UniqueFd fd = open_below(name, O_RDWR | O_CREAT | O_EXCL, 0666);
    if (fd) return {std::move(fd), std::move(name)};
    if (errno == EEXIST) {
      ++number;
    } else if (errno == ENOENT && tries++ < most_tries) {
      make_folders(path);
    } else {
      fail_to_make("cannot make " + name.whole(), path, errno);
    }
  }
}

UniqueFd open_existing(const PathBelow& path, std::uint64_t offset, int flags = 0) {
  UniqueFd fd = open_below(path, O_RDWR | flags, 0666);
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) throw file_error("cannot open " + path.whole(), errno);
  if (static_cast<std::uint64_t>(status.st_size) < offset) {
    throw Error(path.whole() + ": is shorter than what was recorded into it: another process has changed it");
  }
  return fd;
}

// Said by shared memory, which may be damaged: who wrote behind what is no end would spoil the file. False: nothing
// that can be played ends there. Files without room for an index are believed.
bool may_end_at(const UniqueFd& fd, const PathBelow& path, std::uint64_t offset) {
  const Container container = container_or_throw(path.name.native());
  const auto index = FileIndex::of(container);
  FileReader reader(fd.get(), index->piece());
  if (index->follow(reader, offset)) return index->taken() == offset;
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return false;
  return !FileIndex::of(container)->follow(reader, static_cast<std::uint64_t>(status.st_size));  // else in its header
}

// Where the file has room for it: only its header is written, in its place.
void store_duration(const UniqueFd& fd, const std::string& path, std::int64_t duration) {
  std::vector<std::uint8_t> head(longest_header);
  const ssize_t read = ::pread(fd.get(), head.data(), head.size(), 0);
  if (read < 0) throw record_error("cannot read " + path, errno);
  head.resize(static_cast<std::size_t>(read));
  const auto patch = duration_patch(container_or_throw(path), head, duration);
  if (!patch) return;
  if (!write_at(fd, patch->bytes, patch->offset)) throw record_error("cannot write " + path, errno);
}

class FileRecorder final : public Recorder {
 public:
  FileRecorder(const PathBelow& path, UniqueFd fd, const StreamParameters& parameters,
               const std::optional<AudioParameters>& audio, const RecordPosition& position, const RecordStart& start)
      : file_(std::make_shared<const RecordedFileHandle>(RecordedFileHandle{path, path.whole(), std::move(fd)})),
        ending_(std::make_shared<FileEnding>(file_, container_or_throw(path.whole()))),
        muxer_(container_or_throw(path.whole()), parameters, audio, position, start),
        position_(position) {
    cut();
    if (position_.offset > 0) return;
    unwritten_ = muxer_.header();
    store();
  }

  const std::string& path() const override { return file_->name; }

  void write(const PacketView& packet) override {
    muxer_.write(packet);
    ++pending_.packets;
    pending_.offset += packet.data.size();
    pending_.last_dts = packet.dts;
  }

  void write_audio(const PacketView& packet) override {
    muxer_.write_audio(packet);
    pending_.offset += packet.data.size();
  }

  std::uint64_t pending_bytes() const override { return pending_.offset; }

  // When the file system refuses, the bytes stay here, so that a later flush() can succeed.
  RecordPosition flush(std::optional<std::int64_t> next_dts, std::optional<std::int64_t> file_end) override {
    if (!is_in_place()) {
      throw RecordFileError(path() + ": is gone: it was deleted or moved, or its disk was removed");
    }
    const std::vector<std::uint8_t> fragment = muxer_.end_fragment(next_dts, file_end);
    if (!fragment.empty()) ++pending_.fragments;
    pending_.packets -= std::min(pending_.packets, muxer_.take_left_out());
    unwritten_.insert(unwritten_.end(), fragment.begin(), fragment.end());
    if (unwritten_.empty()) return position_;
    store();
    position_.packets += pending_.packets;
    position_.fragments += pending_.fragments;
    if (pending_.packets > 0) position_.last_dts = pending_.last_dts;
    pending_ = {};
    return position_;
  }

  void finish(std::int64_t duration) override { store_duration(file_->fd, path(), duration); }

  void discard() override {
    if (is_in_place() && !remove_below(file_->path)) throw record_error("cannot delete " + path(), errno);
  }

  std::function<void()> sync() const override {
    return [ending = ending_, end = position_.offset] { ending->sync(end); };
  }

  std::shared_ptr<FileEnding> ending() const override { return ending_; }

 private:
  // Whoever deletes or moves a file, or takes its disk away, leaves a descriptor into which one can write for ever.
  bool is_in_place() const {
    struct stat here {};
    struct stat there {};
    return ::fstat(file_->fd.get(), &here) == 0 && status_below(file_->path, there) && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
  }

  void store() {
    if (!write_at(file_->fd, unwritten_, position_.offset)) fail(errno);
    position_.offset += unwritten_.size();
    unwritten_.clear();
  }

  [[noreturn]] void fail(int code) {
    // Leaves no half fragment behind; where even that fails, a successor cuts it off.
    static_cast<void>(::ftruncate(file_->fd.get(), static_cast<off_t>(position_.offset)) == 0);
    if (is_no_room(code)) throw NoRoomError(file_error("cannot write " + path(), code).what(), unwritten_.size());
    if (code == EFBIG) throw FileFullError(file_error("cannot write " + path(), code).what());
    throw record_error("cannot write " + path(), code);
  }

  void cut() {
    if (::ftruncate(file_->fd.get(), static_cast<off_t>(position_.offset)) != 0)
      throw record_error("cannot cut " + path(), errno);
  }

  std::shared_ptr<const RecordedFileHandle> file_;
  std::shared_ptr<FileEnding> ending_;
  Muxer muxer_;
  RecordPosition position_;
  RecordPosition pending_;  // what the next flush adds; offset: bytes of packets
  std::vector<std::uint8_t> unwritten_;
};

}  // namespace

RecordFileError record_error(const std::string& what, int code) {
  return RecordFileError(file_error(what, code).what());
}

bool write_at(const UniqueFd& fd, std::span<const std::uint8_t> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = EIO;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return true;
}

std::unique_ptr<Recorder> Recorder::create(const PathBelow& path, const StreamParameters& parameters,
                                           const std::optional<AudioParameters>& audio, const RecordStart& start) {
  container_or_throw(path.name);
  auto [fd, name] = open_new(path);
  try {
    return std::make_unique<FileRecorder>(name, std::move(fd), parameters, audio, RecordPosition{}, start);
  } catch (...) {
    remove_below(name);  // or a full disk would gather an empty file for every attempt
    throw;
  }
}

std::unique_ptr<Recorder> Recorder::resume(const PathBelow& path, const StreamParameters& parameters,
                                           const RecordPosition& position, const std::optional<AudioParameters>& audio,
                                           const RecordStart& start) {
  const bool begins = position.offset == 0;
  if (begins) make_folders(path);
  UniqueFd fd = open_existing(path, position.offset, begins ? O_CREAT : 0);
  if (!begins && !may_end_at(fd, path, position.offset))
    throw Error(path.whole() + ": no frame ends where it was said to end");
  return std::make_unique<FileRecorder>(path, std::move(fd), parameters, audio, position, start);
}

PathBelow unused_name(const PathBelow& path) {
  for (int number = 0;; ++number) {
    struct stat status {};
    PathBelow name = numbered(path, number);
    if (!status_below(name, status)) return name;
  }
}

void write_duration(const PathBelow& path, std::int64_t duration) {
  store_duration(open_existing(path, 0), path.whole(), duration);
}

bool may_hold_frames(const PathBelow& path) {
  const UniqueFd fd = open_below(path, O_RDONLY);
  struct stat status {};
  const auto container = container_of(path.name.native());
  if (!fd || !container || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return true;
  if (status.st_size > static_cast<off_t>(longest_header)) return true;
  std::vector<std::uint8_t> head(static_cast<std::size_t>(status.st_size));
  return ::pread(fd.get(), head.data(), head.size(), 0) != status.st_size ||
         !(*container == Container::mp4 ? is_header_of_mp4(head) : is_header_of_matroska(head));
}

std::optional<std::int64_t> recorded_at(const PathBelow& path) {
  const auto container = container_of(path.name.native());
  const UniqueFd fd = open_below(path, O_RDONLY);
  if (!container || !fd) return std::nullopt;
  std::vector<std::uint8_t> head(longest_header);
  const ssize_t read = ::pread(fd.get(), head.data(), head.size(), 0);
  if (read <= 0) return std::nullopt;
  head.resize(static_cast<std::size_t>(read));
  return utc_in_header(*container, head);
}

void remove_recording(const PathBelow& path) {
  if (!remove_below(path) && errno != ENOENT && errno != ENOTDIR)
    throw record_error("cannot replace " + path.whole(), errno);
}

bool can_record_audio(std::string_view path, const AudioParameters& audio) {
  const auto container = container_of(path);
  return container && can_hold(*container, audio);
}

bool can_record_to(std::string_view path) { return container_of(path).has_value(); }

}  // namespace campipe
