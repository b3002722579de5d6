#include "app/retention.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace campipe {
namespace {

namespace fs = std::filesystem;

// -1: there is no such file.
std::int64_t size_of(const fs::path& file) {
  struct stat status {};
  return ::lstat(file.c_str(), &status) == 0 ? std::int64_t{status.st_size} : -1;
}

// The file system of `file` has less room than that.
bool is_fuller(const fs::path& file, const std::optional<std::int64_t>& free) {
  struct statvfs status {};
  if (!free || ::statvfs(file.parent_path().c_str(), &status) != 0) return false;
  return status.f_bavail < static_cast<std::uint64_t>(*free) / status.f_frsize;
}

class Cleaner {
 public:
  explicit Cleaner(const fs::path& open_file) : open_file_(open_file) {}

  // False: it is still there.
  bool remove(const fs::path& file, const char* reason) {
    if (!open_file_.empty() && file.lexically_normal() == open_file_.lexically_normal()) return false;
    if (::unlink(file.c_str()) == 0) {
      result.gone.push_back({file, reason});
      return true;
    }
    if (errno == ENOENT) {
      result.gone.push_back({file, "missing"});
      return true;
    }
    if (result.problem.empty()) result.problem = "cannot delete " + file.string() + ": " + std::strerror(errno);
    return false;
  }

  RetentionResult result;

 private:
  fs::path open_file_;
};

}  // namespace

RetentionResult enforce_limits(const RetentionLimits& limits, const std::vector<RecordedFile>& files,
                               const std::string& open_file, std::int64_t now) {
  Cleaner cleaner(open_file);
  std::int64_t total = open_file.empty() ? 0 : std::max<std::int64_t>(size_of(open_file), 0);
  std::vector<const RecordedFile*> left;
  for (const RecordedFile& file : files) {
    const bool old = limits.age && file.written < now - limits.age->count();
    if (old && cleaner.remove(file.path, "age")) continue;
    left.push_back(&file);
  }
  if (!limits.bytes && !limits.free) return cleaner.result;
  std::vector<std::int64_t> sizes;
  for (const RecordedFile* file : left) {
    sizes.push_back(size_of(file->path));
    if (sizes.back() < 0) cleaner.result.gone.push_back({file->path, "missing"});
    total += std::max<std::int64_t>(sizes.back(), 0);
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (sizes[i] < 0) continue;
    const bool too_large = limits.bytes && total > *limits.bytes;
    if (!too_large && !is_fuller(left[i]->path, limits.free)) break;
    if (cleaner.remove(left[i]->path, too_large ? "size" : "space")) total -= sizes[i];
  }
  return cleaner.result;
}

}  // namespace campipe
