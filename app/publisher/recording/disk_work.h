// What a recording has to do with its disk and nobody has to wait for: putting files on it for good, deleting old ones,
// and the index, which may be large. All of it may take seconds, and a camera's thread has to take packets meanwhile.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/publisher/recording/record_index.h"
#include "app/publisher/recording/record_lock.h"
#include "app/publisher/recording/retention.h"

namespace campipe {

class DiskWork {
 public:
  // `index`, `left` and `before`: see RecordIndex. `lock`, which is taken, is kept as long as anything is done.
  DiskWork(const std::filesystem::path& index, std::shared_ptr<RecordLock> lock,
           const std::optional<RecordIndex::Begin>& left, const std::optional<RecordIndex::Ended>& before);
  // Finishes what has been asked for, within a second or so: whoever had to know that it is done has waited before.
  ~DiskWork();
  DiskWork(const DiskWork&) = delete;
  DiskWork& operator=(const DiskWork&) = delete;

  // As RecordIndex has them.
  void begin(const RecordIndex::Begin& file);
  void end(const RecordIndex::End& end);
  void deleted(const std::filesystem::path& file, const std::string& reason);

  // `sync`: as Recorder::sync() gives it.
  void sync(std::function<void()> sync);
  // Of the files in the index. `open_file`: see enforce_limits().
  void enforce(const RetentionLimits& limits, const std::string& open_file);
  [[nodiscard]] bool busy() const;
  // The disk has not answered for some seconds.
  [[nodiscard]] bool hangs() const;

  // What has come out since it was asked last.
  std::optional<std::string> take_sync_problem();
  std::optional<std::string> take_retention_problem();  // empty: there is none any more

 private:
  struct Work;  // the thread has a part in it: it may outlive this
  void post(std::function<void(RecordIndex&)> job);

  std::shared_ptr<Work> work_;
};

}  // namespace campipe
