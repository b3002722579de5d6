#include "app/publisher/recording/record_archive.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "core/files_below.h"
#include "stages/sinks/recorder.h"

namespace campipe {

std::optional<dev_t> disk_of(const std::filesystem::path& index) {
  struct stat status {};
  const UniqueFd folder = open_folder_of(in_own_folder(index), O_PATH);
  if (!folder || ::fstat(folder.get(), &status) != 0) return std::nullopt;
  return status.st_dev;
}

RecordArchive::RecordArchive(std::filesystem::path index, std::shared_ptr<RecordLock> lock,
                             std::optional<RecordAbout> about)
    : index_path_(std::move(index)), lock_(std::move(lock)), about_(std::move(about)), is_recorded_(true) {}

RecordArchive::RecordArchive(std::filesystem::path index, std::optional<RecordAbout> about)
    : index_path_(std::move(index)),
      lock_(std::make_shared<RecordLock>(index_path_)),
      about_(std::move(about)),
      is_recorded_(false) {}

void RecordArchive::open(const std::optional<RecordIndex::Begin>& left,
                         const std::optional<RecordIndex::Ended>& before) {
  const std::lock_guard lock(mutex_);
  index_.emplace(index_path_, left, before, about_, &open_file_);
}

bool RecordArchive::load_some() {
  if (loaded_) return true;
  const std::lock_guard lock(mutex_);
  loaded_ = index_->load_some();
  return loaded_;
}

void RecordArchive::use(const std::function<void(RecordIndex&)>& job) {
  const std::lock_guard lock(mutex_);
  job(*index_);
}

// A lock makes the folders that it lies in, and those of an index that is gone are not made again.
bool RecordArchive::take() {
  if (is_recorded_ || taken_) return true;
  if (!stamp()) return false;
  try {
    lock_->take();
  } catch (const RecordFileError&) {
    return false;
  }
  taken_ = true;
  if (is_current()) return true;
  loaded_ = false;
  open({}, {});
  return true;
}

void RecordArchive::let_go() {
  if (!std::exchange(taken_, false)) return;
  left_ = stamp();
  lock_->release();
}

bool RecordArchive::is_current() const { return loaded_ && left_ && left_ == stamp(); }

std::optional<RecordArchive::Stamp> RecordArchive::stamp() const {
  struct stat status {};
  if (!status_below(in_own_folder(index_path_), status)) return std::nullopt;
  return Stamp{status.st_dev, status.st_ino, status.st_size};
}

}  // namespace campipe
