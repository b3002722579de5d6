#include "app/retention.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

#include "core/files_below.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

// -1: there is no such file.
std::int64_t size_of(const PathBelow& file) {
  struct stat status {};
  return status_below(file, status) ? std::int64_t{status.st_size} : -1;
}

// The file system of `file` has less room than that.
bool is_fuller(const PathBelow& file, const std::optional<std::int64_t>& free) {
  struct statvfs status {};
  if (!free) return false;
  const UniqueFd folder = open_folder_of(file, O_PATH);
  if (!folder || ::fstatvfs(folder.get(), &status) != 0) return false;
  return status.f_bavail < static_cast<std::uint64_t>(*free) / status.f_frsize;
}

class Cleaner {
 public:
  Cleaner(const fs::path& folder, const fs::path& open_file) : folder_(folder), open_file_(open_file) {}

  // False: it is still there.
  bool remove(const fs::path& file, const char* reason) {
    if (!open_file_.empty() && file.lexically_normal() == open_file_.lexically_normal()) return false;
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
  fs::path folder_;
  fs::path open_file_;
};

}  // namespace

RetentionResult enforce_limits(const RetentionLimits& limits, const fs::path& folder,
                               const std::vector<RecordedFile>& files, const std::string& open_file, std::int64_t now) {
  Cleaner cleaner(folder, open_file);
  std::int64_t total = open_file.empty() ? 0 : std::max<std::int64_t>(size_of(path_below(folder, open_file)), 0);
  std::vector<const RecordedFile*> left;
  for (const RecordedFile& file : files) {
    const bool old = limits.age && file.written < now - limits.age->count();
    if (old && cleaner.remove(file.path, "age")) continue;
    left.push_back(&file);
  }
  if (!limits.bytes && !limits.free) return cleaner.result;
  std::vector<std::int64_t> sizes;
  for (const RecordedFile* file : left) {
    sizes.push_back(size_of(path_below(folder, file->path)));
    if (sizes.back() < 0) cleaner.result.gone.push_back({file->path, "missing"});
    total += std::max<std::int64_t>(sizes.back(), 0);
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (sizes[i] < 0) continue;
    const bool too_large = limits.bytes && total > *limits.bytes;
    if (!too_large && !is_fuller(path_below(folder, left[i]->path), limits.free)) break;
    if (cleaner.remove(left[i]->path, too_large ? "size" : "space")) total -= sizes[i];
  }
  return cleaner.result;
}

}  // namespace campipe
