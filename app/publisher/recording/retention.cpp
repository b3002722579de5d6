#include "app/publisher/recording/retention.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "core/failpoint.h"
#include "core/files_below.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

// -1: there is no such file.
std::int64_t size_of(const PathBelow& file) {
  struct stat status {};
  return status_below(file, status) ? std::int64_t{status.st_size} : -1;
}

// How much has to go.
struct Excess {
  std::int64_t size = 0;   // of the files together
  std::int64_t space = 0;  // of the disk
  [[nodiscard]] bool any() const { return size > 0 || space > 0; }
  void less(std::int64_t bytes) {
    size -= bytes;
    space -= bytes;
  }
};

Excess excess_of(const RetentionLimits& limits, std::int64_t total, const std::optional<std::int64_t>& free) {
  Excess excess;
  if (limits.bytes) excess.size = total - *limits.bytes;
  if (limits.free && free) excess.space = *limits.free - *free;
  return excess;
}

class Cleaner {
 public:
  Cleaner(const fs::path& folder, const OpenFile& open_file) : folder_(folder), open_file_(open_file) {}

  // False: it is still there.
  bool remove(const fs::path& file, const char* reason) {
    failpoint("retention.deleting", file.filename().string());
    const auto lock = open_file_.lock_other(file);
    if (!lock) return false;
    if (remove_below(path_below(folder_, file))) {
      result.gone.push_back({file, reason});
      return true;
    }
    if (errno == ENOENT) {
      result.gone.push_back({file, "missing"});
      return true;
    }
    if (result.problem.empty()) result.problem = file_error("cannot delete " + file.string(), errno).what();
    return false;
  }

  RetentionResult result;

 private:
  const fs::path& folder_;
  const OpenFile& open_file_;
};

using Files = std::vector<const RecordedFile*>;

// `sizes`: -1 for what is not there.
void remove_excess(Cleaner& cleaner, Excess excess, const Files& files, const std::vector<std::int64_t>& sizes) {
  for (std::size_t i = 0; i < files.size() && excess.any(); ++i) {
    if (sizes[i] < 0) continue;
    if (cleaner.remove(files[i]->path, excess.size > 0 ? "size" : "space")) excess.less(sizes[i]);
  }
}

}  // namespace

void OpenFile::set(const fs::path& file) {
  const std::lock_guard lock(mutex_);
  file_ = file.lexically_normal();
}

fs::path OpenFile::get() const {
  const std::lock_guard lock(mutex_);
  return file_;
}

std::unique_lock<std::mutex> OpenFile::lock_other(const fs::path& file) const {
  std::unique_lock lock(mutex_);
  if (!file_.empty() && file.lexically_normal() == file_) lock.unlock();
  return lock;
}

std::optional<std::int64_t> free_space(const PathBelow& file) {
  struct statvfs status {};
  const UniqueFd folder = open_folder_of(file, O_PATH);
  if (!folder || ::fstatvfs(folder.get(), &status) != 0 || status.f_frsize == 0) return std::nullopt;
  const std::uint64_t most = INT64_MAX / status.f_frsize;
  return static_cast<std::int64_t>(std::min<std::uint64_t>(status.f_bavail, most) * status.f_frsize);
}

RetentionResult enforce_limits(const RetentionLimits& limits, const fs::path& folder,
                               const std::vector<RecordedFile>& files, const OpenFile& open_file, std::int64_t now,
                               const FreeSpace& free) {
  Cleaner cleaner(folder, open_file);
  const fs::path open = open_file.get();
  const std::int64_t open_size = open.empty() ? 0 : std::max<std::int64_t>(size_of(path_below(folder, open)), 0);
  Files left;
  std::int64_t total = open_size;
  for (const RecordedFile& file : files) {
    const bool old = limits.age && file.written < now - limits.age->count();
    if (old && cleaner.remove(file.path, "age")) continue;
    left.push_back(&file);
    const auto most = static_cast<std::uint64_t>(INT64_MAX - total);
    total += static_cast<std::int64_t>(std::min(file.bytes, most));
  }
  if ((!limits.bytes && !limits.free) || left.empty()) return cleaner.result;
  const auto room = limits.free ? free(path_below(folder, left.front()->path)) : std::nullopt;
  if (!excess_of(limits, total, room).any()) return cleaner.result;  // as nearly always: no file has to be looked at
  total = open_size;
  std::vector<std::int64_t> sizes;
  for (const RecordedFile* file : left) {
    sizes.push_back(size_of(path_below(folder, file->path)));
    if (sizes.back() < 0) cleaner.result.gone.push_back({file->path, "missing"});
    total += std::max<std::int64_t>(sizes.back(), 0);
  }
  remove_excess(cleaner, excess_of(limits, total, room), left, sizes);
  return cleaner.result;
}

}  // namespace campipe
