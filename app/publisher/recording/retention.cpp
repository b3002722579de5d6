#include "app/publisher/recording/retention.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

// What has become empty of the folders on the way to a file.
void remove_empty_folders(const PathBelow& file) {
  for (fs::path name = file.name.parent_path(); !name.empty(); name = name.parent_path()) {
    const UniqueFd above = open_folder_of({file.folder, name}, O_PATH);
    if (!above || ::unlinkat(above.get(), name.filename().c_str(), AT_REMOVEDIR) != 0) return;
  }
}

class Cleaner {
 public:
  Cleaner(const fs::path& folder, const OpenFile& open_file, RetentionResult& result)
      : folder_(folder), open_file_(open_file), result_(result) {}

  // False: it is still there.
  bool remove(const fs::path& file, const char* reason) {
    failpoint("retention.deleting", file.filename().string());
    const auto lock = open_file_.lock_other(file);
    if (!lock) return false;
    const PathBelow path = path_below(folder_, file);
    if (remove_below(path)) {
      remove_empty_folders(path);
      result_.gone.push_back({file, reason});
      return true;
    }
    if (errno == ENOENT) {
      result_.gone.push_back({file, "missing"});
      return true;
    }
    if (result_.problem.empty()) result_.problem = file_error("cannot delete " + file.string(), errno).what();
    return false;
  }

 private:
  const fs::path& folder_;
  const OpenFile& open_file_;
  RetentionResult& result_;
};

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

bool are_kept(const RetentionLimits& limits, const std::vector<RecordedFile>& files, std::int64_t now) {
  std::uint64_t total = 0;
  for (const RecordedFile& file : files) {
    if (limits.age && file.written < now - limits.age->count()) return false;
    total += std::min<std::uint64_t>(file.bytes, UINT64_MAX - total);
  }
  return !limits.bytes || total <= static_cast<std::uint64_t>(*limits.bytes);
}

RetentionResult enforce_limits(const RetentionLimits& limits, const fs::path& folder,
                               const std::vector<RecordedFile>& files, const OpenFile& open_file, std::int64_t now) {
  RetentionResult result;
  Cleaner cleaner(folder, open_file, result);
  const fs::path open = open_file.get();
  const std::int64_t open_size = open.empty() ? 0 : std::max<std::int64_t>(size_of(path_below(folder, open)), 0);
  std::vector<const RecordedFile*> left;
  std::int64_t total = open_size;
  for (const RecordedFile& file : files) {
    const bool old = limits.age && file.written < now - limits.age->count();
    if (old && cleaner.remove(file.path, "age")) continue;
    left.push_back(&file);
    const auto most = static_cast<std::uint64_t>(INT64_MAX - total);
    total += static_cast<std::int64_t>(std::min(file.bytes, most));
  }
  if (!limits.bytes || total <= *limits.bytes) return result;  // as nearly always: no file has to be looked at
  total = open_size;
  std::vector<std::int64_t> sizes;  // -1: it is not there
  for (const RecordedFile* file : left) {
    sizes.push_back(size_of(path_below(folder, file->path)));
    if (sizes.back() < 0) result.gone.push_back({file->path, "missing"});
    total += std::max<std::int64_t>(sizes.back(), 0);
  }
  for (std::size_t i = 0; i < left.size() && total > *limits.bytes; ++i) {
    if (sizes[i] >= 0 && cleaner.remove(left[i]->path, "size")) total -= sizes[i];
  }
  return result;
}

std::int64_t remove_oldest(std::span<GivingWay> all, std::int64_t bytes) {
  struct Candidate {
    std::int64_t written;
    const RecordedFile* file;
    GivingWay* of;
  };
  std::vector<Candidate> oldest;
  for (GivingWay& of : all) {
    std::int64_t written = INT64_MIN;  // of one recording their order counts, whatever the clock said
    for (const RecordedFile& file : of.files) {
      written = std::max(written, file.written);
      oldest.push_back({written, &file, &of});
    }
  }
  std::ranges::stable_sort(oldest, {}, &Candidate::written);
  std::int64_t gone = 0;
  for (const Candidate& each : oldest) {
    if (gone >= bytes) break;
    const std::int64_t size = size_of(path_below(each.of->folder, each.file->path));
    Cleaner cleaner(each.of->folder, *each.of->open_file, each.of->result);
    if (cleaner.remove(each.file->path, "space")) gone += std::max<std::int64_t>(size, 0);
  }
  return gone;
}

}  // namespace campipe
