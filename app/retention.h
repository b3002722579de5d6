// Which of a recording's files have to go, and their going. Plain functions, for any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace campipe {

// One that is closed.
struct RecordedFile {
  std::filesystem::path path;
  std::int64_t start = 0;    // UTC ns, of its first picture
  std::int64_t end = 0;      // of its last one, with what that lasts
  std::int64_t written = 0;  // when it was closed, by this machine's clock: a camera's may be wrong by years
  std::uint64_t bytes = 0;
};

struct RetentionLimits {
  std::optional<std::chrono::nanoseconds> age;  // since it was closed
  std::optional<std::int64_t> bytes;            // of all files, the open one with them
  std::optional<std::int64_t> free;             // bytes of their file system that are to be free
};

struct RetentionResult {
  struct Gone {
    std::filesystem::path path;
    const char* reason;  // "age", "size", "space", or "missing": somebody else has deleted it
  };
  std::vector<Gone> gone;
  std::string problem;  // the first file that could not be deleted, and why; empty: none
};

// Deletes those of `files` (oldest first), which lie below `folder`, that are too old at `now`, then the oldest until
// the rest is small enough and the disk has enough room.
// Never `open_file` (empty: none). A file that cannot be deleted is passed over.
RetentionResult enforce_limits(const RetentionLimits& limits, const std::filesystem::path& folder,
                               const std::vector<RecordedFile>& files, const std::string& open_file, std::int64_t now);

}  // namespace campipe
