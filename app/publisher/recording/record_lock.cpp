#include "app/publisher/recording/record_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <string>
#include <utility>

#include "core/log.h"
#include "stages/sinks/recorder.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

// "dock.index.jsonl" → ".dock.index.lock"
PathBelow lock_of(const fs::path& index) { return {index.parent_path(), "." + index.stem().string() + ".lock"}; }

// Who may only read it can lock it, too, on most disks.
UniqueFd open_lock(const PathBelow& path) {
  UniqueFd fd = open_below(path, O_RDWR | O_CREAT, 0666);
  return fd || errno != EACCES ? std::move(fd) : open_below(path, O_RDONLY);
}

// For logs and pages, whose words these may be.
std::string without_signs(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = ' ';
  }
  return text;
}

// "process 123 on dock-pc", as the lock's holder has written it: of the rig, which people can end, and not of its
// publisher, which would be restarted. Empty: that is not known.
std::string holder_in(const UniqueFd& fd) {
  std::array<char, 100> bytes{};
  const ssize_t size = ::pread(fd.get(), bytes.data(), bytes.size(), 0);
  const std::string text(bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return without_signs(text.substr(0, text.find('\n')));
}

// Who has started this publisher.
std::string this_rig() {
  std::array<char, 65> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  return without_signs("process " + std::to_string(::getppid()) + " on " + host.data());
}

// What the others report. Where it cannot be written, they report less.
void write_holder(const UniqueFd& fd) {
  const std::string text = this_rig() + "\n";
  static_cast<void>(::ftruncate(fd.get(), 0) == 0 && ::pwrite(fd.get(), text.data(), text.size(), 0) > 0);
}

}  // namespace

RecordLock::RecordLock(const fs::path& index) : path_(lock_of(index)) {}

bool RecordLock::is_held() const {
  struct stat held {};
  struct stat there {};
  return fd_ && ::fstat(fd_.get(), &held) == 0 && status_below(path_, there) && held.st_dev == there.st_dev &&
         held.st_ino == there.st_ino;
}

bool RecordLock::take() {
  if (is_held()) return false;
  UniqueFd fd = make_folders_of(path_) ? open_lock(path_) : UniqueFd();
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
    write_holder(fd);
    fd_ = std::move(fd);
    return true;
  }
  if (fd && errno == EWOULDBLOCK) {
    const std::string holder = holder_in(fd);
    if (holder == this_rig()) {
      throw RecordFileError("what was recorded there before has not come to its end yet, which holds the lock " +
                            path_.whole() + "; its disk may not answer");
    }
    throw RecordFileError("another rig (" + (holder.empty() ? "process unknown" : holder) +
                          ") records under the same names, by the lock " + path_.whole() +
                          "; give one of the two cameras another record.path, or end that rig");
  }
  if (!std::exchange(reported_, true)) {
    spdlog::warn("{}; another rig that records there would not be noticed",
                 file_error("cannot lock " + path_.whole(), errno).what());
  }
  return false;
}

}  // namespace campipe
