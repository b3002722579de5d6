// Which files of recordings have to go, and their going. Plain functions, for any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
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
  [[nodiscard]] bool any() const { return age || bytes || free; }
  friend bool operator==(const RetentionLimits&, const RetentionLimits&) = default;
};

struct RetentionResult {
  struct Gone {
    std::filesystem::path path;
    const char* reason;  // "age", "size", "space", or "missing": it was not there
  };
  std::vector<Gone> gone;
  std::string problem;  // the first file that could not be deleted, and why; empty: none
};

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

// None of `files` is too old at `now`, and together they are small enough.
bool are_kept(const RetentionLimits& limits, const std::vector<RecordedFile>& files, std::int64_t now);

// Deletes those of `files` (oldest first), which lie below `folder`, that are too old at `now`, then the oldest until
// the rest is small enough. Never `open_file`. A file that cannot be deleted is passed over. Folders below `folder`
// that become empty go, too.
RetentionResult enforce_limits(const RetentionLimits& limits, const std::filesystem::path& folder,
                               const std::vector<RecordedFile>& files, const OpenFile& open_file, std::int64_t now);

// Files of one recording, which give way for room on their disk.
struct GivingWay {
  std::filesystem::path folder;     // they lie below it
  std::vector<RecordedFile> files;  // oldest first
  const OpenFile* open_file;        // as above
  RetentionResult result = {};
};

// Deletes the oldest files of all recordings until those that are gone have so many bytes: of two recordings neither
// keeps a file that is older than one that the other has lost. Returns how many bytes they had.
std::int64_t remove_oldest(std::span<GivingWay> all, std::int64_t bytes);

}  // namespace campipe
