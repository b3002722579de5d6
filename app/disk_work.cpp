#include "app/disk_work.h"

#include <utility>

#include "core/clock.h"

namespace campipe {

DiskWork::DiskWork() : thread_([this] { run(); }) {}

DiskWork::~DiskWork() {
  const std::lock_guard lock(mutex_);
  leaving_ = true;
  changed_.notify_one();
}

void DiskWork::post(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  changed_.notify_one();
}

void DiskWork::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return leaving_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::function<void()> job = jobs_.front();
    lock.unlock();
    job();
    lock.lock();
    jobs_.pop_front();
  }
}

void DiskWork::sync(std::function<void()> sync) {
  post([this, sync = std::move(sync)] {
    try {
      sync();
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      sync_problem_ = error.what();
    }
  });
}

void DiskWork::enforce(const RetentionLimits& limits, std::vector<RecordedFile> files, std::string open_file) {
  post([this, limits, files = std::move(files), open_file = std::move(open_file)] {
    RetentionResult result = enforce_limits(limits, files, open_file, utc_now_ns());
    const std::lock_guard lock(mutex_);
    retention_ = std::move(result);
  });
}

bool DiskWork::busy() const {
  const std::lock_guard lock(mutex_);
  return !jobs_.empty();
}

std::optional<std::string> DiskWork::take_sync_problem() {
  const std::lock_guard lock(mutex_);
  return std::exchange(sync_problem_, std::nullopt);
}

std::optional<RetentionResult> DiskWork::take_retention() {
  const std::lock_guard lock(mutex_);
  return std::exchange(retention_, std::nullopt);
}

}  // namespace campipe
