// Which of a recording's files have to go, and their going. Plain functions, for any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/files_below.h"

namespace campipe {

// One that is closed.
struct RecordedFile {
  std::filesystem::path path;
  std::int64_t written = 0;  // UTC ns, when it was closed, by this machine's clock: a camera's may be wrong by years
  std::uint64_t bytes = 0;   // as the index has it: what is there is looked at before anything is deleted for its size
};

struct RetentionLimits {
  std::optional<std::chrono::nanoseconds> age;  // since it was closed
  std::optional<std::int64_t> bytes;            // of all files, the open one with them
  std::optional<std::int64_t> free;             // bytes of their file system that are to be free
};

struct RetentionResult {
  struct Gone {
    std::filesystem::path path;
    const char* reason;  // "age", "size", "space", or "missing": it was not there
  };
  std::vector<Gone> gone;
  std::string problem;  // the first file that could not be deleted, and why; empty: none
};

// Bytes of its file system that are free; nothing: that cannot be found out.
using FreeSpace = std::function<std::optional<std::int64_t>(const PathBelow& file)>;
std::optional<std::int64_t> free_space(const PathBelow& file);

// The file that is being recorded, which is never deleted: also where it has the name of an older one, which it
// replaces while files are deleted on another thread. Any thread.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(const std::filesystem::path& file) : file_(file.lexically_normal()) {}

  // Before that file is made. Waits while one is being deleted. Empty: none.
  void set(const std::filesystem::path& file);
  [[nodiscard]] std::filesystem::path get() const;
  // Keeps set() waiting while it is held; not held: that is the open file.
  [[nodiscard]] std::unique_lock<std::mutex> lock_other(const std::filesystem::path& file) const;

 private:
  mutable std::mutex mutex_;
  std::filesystem::path file_;
};

// Deletes those of `files` (oldest first), which lie below `folder`, that are too old at `now`, then the oldest until
// the rest is small enough and what is deleted makes up for the room that the disk lacks. How much it lacks is asked
// once: file systems give room back seconds later, or only when the last reader of a file has gone.
// Never `open_file`. A file that cannot be deleted is passed over.
RetentionResult enforce_limits(const RetentionLimits& limits, const std::filesystem::path& folder,
                               const std::vector<RecordedFile>& files, const OpenFile& open_file, std::int64_t now,
                               const FreeSpace& free = free_space);

}  // namespace campipe
