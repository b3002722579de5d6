// Who records under the names of an index: one process at a time. Two rigs that record into one folder under the same
// names would take each other's files for their own, end them, and delete them. The lock lies on a file beside the
// index, `.NAME.index.lock`, which stays there; the kernel gives it back when its process is gone.
//
// It keeps apart those who mean no harm: a process that may write into the folder can do without it.
//
// Used by one thread, but released by any.
#pragma once

#include <filesystem>

#include "core/files_below.h"
#include "core/unique_handle.h"

namespace campipe {

class RecordLock {
 public:
  // `index`: as record_index_path() has it.
  explicit RecordLock(const std::filesystem::path& index);

  // Takes it where it is not held; also where its file is gone, and with it what keeps others away. Waits for the disk
  // only. Throws RecordFileError where another process has it. A disk without locks is reported once, and counts as
  // free. True: it was not held, and is now, in this folder.
  bool take();
  void release() { fd_ = UniqueFd(); }

 private:
  [[nodiscard]] bool is_held() const;

  PathBelow path_;
  UniqueFd fd_;  // holds the lock
  bool reported_ = false;
};

}  // namespace campipe
