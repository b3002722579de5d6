// The housekeeper of one file system: it enforces the limits of all recordings there, whether they record now or not.
// Age and size are limits of each recording. What is to be free is a limit of the disk: the oldest files of all
// recordings that have such a limit give way together, until as much is free as the largest of them says. An index that
// no configuration names limits its own files alone: anybody may have put it there. What is more than the disk has is
// not obeyed. A recording without any limit is never deleted. When the disk is full all the same, those with a limit of
// size give way, too.
//
// Used by one thread, which may wait for the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "app/publisher/recording/record_archive.h"
#include "app/publisher/recording/retention.h"
#include "core/clock.h"
#include "core/files_below.h"

namespace campipe {

// Bytes of its file system that are free; nothing: that cannot be found out.
using FreeSpace = std::function<std::optional<std::int64_t>(const PathBelow& file)>;
std::optional<std::int64_t> free_space(const PathBelow& file);
// The size of that file system in bytes; nothing: it cannot be found out.
std::optional<std::int64_t> whole_space(const PathBelow& file);

class Housekeeper {
 public:
  // One on this disk.
  struct Recording {
    std::shared_ptr<RecordArchive> archive;
    RetentionLimits limits;  // out, too, where they are as the index says
    bool is_due = false;     // its age and size are to be looked at
    // Something is about to be recorded there: an archive of which nothing was recorded is let go.
    std::function<bool()> is_wanted;
    bool is_by_index = false;  // its limits are
    bool is_kept = false;      // out: that has been done
  };

  explicit Housekeeper(FreeSpace free = free_space, FreeSpace whole = whole_space)
      : free_(std::move(free)), whole_(std::move(whole)) {}

  // Enforces the limits of all, once. Of one whose index is still being read, or that another process has, later.
  // `missing`: bytes that were to be written and did not fit; then recordings with a limit of size give way, too.
  // Returns how many bytes the files had that made room on the disk.
  std::int64_t keep(std::span<Recording> recordings, std::int64_t missing = 0);

 private:
  static bool hold(const Recording& recording);
  static bool learn_limits(Recording& recording);
  bool enforce(const Recording& recording);
  std::int64_t make_room(std::span<Recording> recordings, std::int64_t missing);
  void settle(RecordArchive& archive, const RetentionResult& result);

  std::int64_t make_room_among(std::span<const Recording* const> some, std::int64_t wanted, std::int64_t missing);
  [[nodiscard]] std::int64_t wanted_of(const Recording& recording);

  FreeSpace free_;
  FreeSpace whole_;
  Clock::time_point asks_again_{};                           // of a disk that frees room late
  std::map<std::filesystem::path, std::string> reported_{};  // the last problem of each index
  std::set<std::filesystem::path> impossible_{};             // indexes whose limit was said to be more than there is
};

}  // namespace campipe
