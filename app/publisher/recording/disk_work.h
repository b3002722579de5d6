// What a recording has to do with its disk and no camera has to wait for: putting files on it for good, and the index,
// which may be large. All of it may take seconds, and a camera's thread has to take packets meanwhile. Old files are
// deleted by the disk's housekeeper, which shares the index.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/publisher/recording/housekeeping.h"
#include "app/publisher/recording/record_index.h"
#include "app/publisher/recording/record_lock.h"
#include "core/clock.h"
#include "stages/sinks/file_ending.h"

namespace campipe {

class DiskWork {
 public:
  // `about`, `left` and `before`: see RecordIndex. `ending_before`: of that file, may be null. `lock`, which is taken,
  // is kept as long as anything is done.
  DiskWork(const RecordAbout& about, std::shared_ptr<RecordLock> lock, std::shared_ptr<Housekeeping> house,
           const std::optional<RecordIndex::Begin>& left, const std::optional<RecordIndex::Ended>& before,
           std::shared_ptr<FileEnding> ending_before);
  // Finishes what has been asked for, within a second or so: a caller that had to know that it is done has waited
  // before.
  ~DiskWork();
  DiskWork(const DiskWork&) = delete;
  DiskWork& operator=(const DiskWork&) = delete;

  // As RecordIndex has them. These lines are written before anything else is done that has been asked for.
  void begin(const RecordIndex::Begin& file);
  // `ending`: of the file, which gets its index, is put on the disk for good, and has that index then; may be null.
  void end(const RecordIndex::End& end, const std::shared_ptr<FileEnding>& ending);
  void deleted(const std::filesystem::path& file, const std::string& reason);
  // Waits until all lines asked for so far are written and the indexes of ended files count, those of a predecessor
  // with them; two seconds at most, and not at all for a disk that does not answer. To be called before what a
  // successor would make them from is replaced.
  void wait_for_lines();

  // `sync`: as Recorder::sync() gives it. Done if seven seconds have passed since the last time, and nothing else is
  // being done.
  void sync_now_and_then(std::function<void()> sync);
  // The file that is going to be recorded next: the housekeeper does not delete it. Empty: none.
  void keep(const std::string& open_file);
  [[nodiscard]] bool busy() const;
  // The disk has not answered for some seconds.
  [[nodiscard]] bool hangs() const;

  // What has come out since it was asked last.
  std::optional<std::string> take_sync_problem();

 private:
  struct Work;  // the thread has a part in it: it may outlive this

  std::shared_ptr<Work> work_;
  Clock::time_point next_sync_{};
};

}  // namespace campipe
