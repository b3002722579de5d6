// What there is of one recording on its disk: the index of its files, for those who use it one after the other: the
// thread that keeps the index while something is recorded (DiskWork), and the housekeeper of the disk.
//
// While something is recorded, the lock is held as long as this lives. Else it is held for as long as something is
// done (take() to let_go()), so that another rig may record there.
//
// Any thread, unless stated otherwise.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "app/publisher/recording/record_about.h"
#include "app/publisher/recording/record_index.h"
#include "app/publisher/recording/record_lock.h"
#include "app/publisher/recording/retention.h"

namespace campipe {

// The file system on which an index lies; nothing: its folder is not there. Waits for the disk.
std::optional<dev_t> disk_of(const std::filesystem::path& index);

class RecordArchive {
 public:
  // Something is recorded. `lock` has been taken. `about`: see RecordIndex.
  RecordArchive(std::filesystem::path index, std::shared_ptr<RecordLock> lock, std::optional<RecordAbout> about = {});
  // Nothing is.
  explicit RecordArchive(std::filesystem::path index, std::optional<RecordAbout> about = {});

  // As RecordIndex. Waits for the disk; to be called once, before the index is used.
  void open(const std::optional<RecordIndex::Begin>& left, const std::optional<RecordIndex::Ended>& before);
  // Reads some of what stood there. True: that was the last of it.
  bool load_some();
  [[nodiscard]] bool is_loaded() const { return loaded_; }
  // Something is recorded, as long as this lives.
  [[nodiscard]] bool is_recorded() const { return is_recorded_; }
  void use(const std::function<void(RecordIndex&)>& job);

  // Takes the lock of a recording that does not record. Returns false where another process has the lock, or there is
  // no index. An index that has changed since let_go() is loaded again by load_some(). take() and let_go() belong to
  // one thread.
  bool take();
  void let_go();
  // It has been read, and nobody has changed it since it was let go.
  [[nodiscard]] bool is_current() const;

  [[nodiscard]] const std::filesystem::path& index() const { return index_path_; }
  [[nodiscard]] std::filesystem::path folder() const { return index_path_.parent_path(); }
  [[nodiscard]] OpenFile& open_file() { return open_file_; }

 private:
  // Which index it was, and how long.
  struct Stamp {
    dev_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  [[nodiscard]] std::optional<Stamp> stamp() const;

  const std::filesystem::path index_path_;
  const std::shared_ptr<RecordLock> lock_;
  const std::optional<RecordAbout> about_;
  const bool is_recorded_;
  OpenFile open_file_;
  std::mutex mutex_;  // of the index
  std::optional<RecordIndex> index_;
  std::atomic<bool> loaded_{false};
  bool taken_ = false;
  std::optional<Stamp> left_;  // as let_go() has left it
};

}  // namespace campipe
