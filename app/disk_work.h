// What a recording has to do with its disk and nobody has to wait for: putting files on it for good, deleting old ones.
// Both may take seconds, and a camera's thread has to take packets meanwhile.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/retention.h"

namespace campipe {

class DiskWork {
 public:
  DiskWork();
  // Finishes what has been asked for.
  ~DiskWork();
  DiskWork(const DiskWork&) = delete;
  DiskWork& operator=(const DiskWork&) = delete;

  // `sync`: as Recorder::sync() gives it.
  void sync(std::function<void()> sync);
  void enforce(const RetentionLimits& limits, std::vector<RecordedFile> files, std::string open_file);
  [[nodiscard]] bool busy() const;

  // What has come out since it was asked last.
  std::optional<std::string> take_sync_problem();
  std::optional<RetentionResult> take_retention();

 private:
  void post(std::function<void()> job);
  void run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;  // the first one is being done
  bool leaving_ = false;
  std::optional<std::string> sync_problem_;
  std::optional<RetentionResult> retention_;
  std::jthread thread_;
};

}  // namespace campipe
