// Writes the report of a run on a thread of its own: a disk that does not answer must not hold up the supervisor.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "app/control/background_queue.h"
#include "app/supervisor/port/report_writer.h"

namespace campipe {

// Before a run, which must not fail at its end for want of a folder. Empty: it can be written. Waits a few seconds for
// a disk. Throws std::system_error where there can be no thread.
std::string why_not_written(const std::filesystem::path& file);

class RealReportWriter final : public ReportWriter {
 public:
  // Throws std::system_error where there can be no thread.
  explicit RealReportWriter(const std::filesystem::path& file);

  void put(std::string report) override { queue_.put(std::move(report)); }
  bool finish() override;

 private:
  std::filesystem::path file_;
  std::shared_ptr<std::atomic<bool>> failed_ = std::make_shared<std::atomic<bool>>(false);  // the newest
  BackgroundQueue queue_;
};

}  // namespace campipe
