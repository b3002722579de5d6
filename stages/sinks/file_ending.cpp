#include "stages/sinks/file_ending.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "core/failpoint.h"
#include "core/log.h"
#include "stages/sinks/muxer.h"
#include "stages/sinks/recorder.h"

namespace campipe {

FileEnding::FileEnding(std::shared_ptr<const RecordedFileHandle> file, Container container)
    : file_(std::move(file)), index_(FileIndex::of(container)) {}

std::shared_ptr<FileEnding> ending_of(const PathBelow& path) {
  const auto container = container_of(path.name.native());
  UniqueFd fd = open_below(path, O_RDWR);
  if (!container || !fd) return nullptr;
  return std::make_shared<FileEnding>(
      std::make_shared<const RecordedFileHandle>(RecordedFileHandle{path, path.whole(), std::move(fd)}), *container);
}

void FileEnding::put_on_disk() const {
  if (::fdatasync(file_->fd.get()) != 0) throw record_error("cannot put " + file_->name + " on the disk", errno);
  const UniqueFd folder = open_folder_of(file_->path, O_RDONLY);
  if (!folder || ::fsync(folder.get()) != 0)
    throw record_error("cannot put the folder of " + file_->name + " on the disk", errno);
}

void FileEnding::sync(std::uint64_t end) {
  put_on_disk();
  FileReader reader(file_->fd.get(), index_->piece());
  index_->follow(reader, end);
}

std::uint64_t FileEnding::size() const {
  struct stat status {};
  if (::fstat(file_->fd.get(), &status) != 0) throw record_error("cannot read " + file_->name, errno);
  return static_cast<std::uint64_t>(status.st_size);
}

// A predecessor may have appended one, or a part of it: it is cut off. What lies behind the end in a file whose end is
// not known is left to players, and such a file gets no index.
std::uint64_t FileEnding::add_index(std::optional<std::uint64_t> end, std::optional<std::int64_t> duration) {
  const std::uint64_t before = size();
  FileReader reader(file_->fd.get(), index_->piece());
  if (index_->is_there(reader)) return before;
  const std::uint64_t until = std::min(end.value_or(before), before);
  if (!index_->follow(reader, until) || !index_->is_all(reader, until)) return before;
  try {
    append(index_->make(duration), index_->taken());
    patch_ = index_->patch();
  } catch (const RecordFileError&) {
    throw;
  } catch (const Error& error) {
    spdlog::warn("{} gets no index, and plays without: {}", file_->name, error.what());
  }
  failpoint("recording.index_appended", file_->path.name.native());
  return size();
}

// The file's time stays that of its last frame.
void FileEnding::append(const std::vector<std::uint8_t>& index, std::uint64_t end) const {
  struct stat status {};
  const int fd = file_->fd.get();
  if (::fstat(fd, &status) != 0 || ::ftruncate(fd, static_cast<off_t>(end)) != 0)
    throw record_error("cannot cut " + file_->name, errno);
  const bool is_written = write_at(file_->fd, index, end);
  const int code = errno;
  if (!is_written) static_cast<void>(::ftruncate(fd, static_cast<off_t>(end)) == 0);
  const std::array<timespec, 2> times{timespec{0, UTIME_OMIT}, status.st_mtim};
  static_cast<void>(::futimens(fd, times.data()) == 0);  // a file system without times
  if (!is_written) throw record_error("cannot write the index of " + file_->name, code);
}

std::uint64_t FileEnding::try_to_add_index(std::uint64_t end, std::optional<std::int64_t> duration) {
  try {
    return add_index(end, duration);
  } catch (const Error& error) {
    spdlog::warn("{}; it plays without an index", error.what());
    return end;
  }
}

void FileEnding::complete() {
  put_on_disk();
  const auto patch = std::exchange(patch_, std::nullopt);
  if (!patch) return;
  failpoint("recording.index_synced", file_->path.name.native());
  if (!write_at(file_->fd, patch->bytes, patch->offset)) throw record_error("cannot write " + file_->name, errno);
  failpoint("recording.index_counts", file_->path.name.native());
  if (::fdatasync(file_->fd.get()) != 0) throw record_error("cannot put " + file_->name + " on the disk", errno);
}

}  // namespace campipe
