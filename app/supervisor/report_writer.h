// Writes the report of a run, each minute and at the end, on a thread of its own: a disk that does not answer must not
// hold up the supervisor. Of several reports that wait only the newest is written.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "app/control/background_queue.h"

namespace campipe {

// Before a run, which must not fail at its end for want of a folder. Empty: it can be written. Waits a few seconds for
// a disk. Throws std::system_error where there can be no thread.
std::string why_not_written(const std::filesystem::path& file);

class ReportWriter {
 public:
  // Throws std::system_error where there can be no thread.
  explicit ReportWriter(const std::filesystem::path& file);

  // Never waits. One that cannot be written is logged, and the next one may be.
  void put(std::string report) { queue_.put(std::move(report)); }
  // Waits a few seconds for the last one. False: it is not written.
  bool finish();

 private:
  std::filesystem::path file_;
  std::shared_ptr<std::atomic<bool>> failed_ = std::make_shared<std::atomic<bool>>(false);  // the newest
  BackgroundQueue queue_;
};

}  // namespace campipe
