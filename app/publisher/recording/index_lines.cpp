#include "app/publisher/recording/index_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/files_below.h"
#include "core/log.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_pending = std::size_t{1} << 20;  // bytes of lines that wait for the disk

}  // namespace

void IndexLines::append(const std::string& line) {
  if (pending_.size() < most_pending) pending_ += line + "\n";
  write_pending();
}

void IndexLines::write_pending() {
  if (pending_.empty()) return;
  std::error_code error;
  fs::create_directories(path_.parent_path(), error);  // opening finds what is wrong
  const UniqueFd fd = open_below(in_own_folder(path_), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const std::string text = (cut_off_ ? "\n" : "") + pending_;
  const ssize_t written = fd ? ::write(fd.get(), text.data(), text.size()) : -1;
  if (written == static_cast<ssize_t>(text.size())) {
    pending_.clear();
    cut_off_ = reported_ = false;
    unsynced_ = true;
    return;
  }
  const int code = written < 0 ? errno : ENOSPC;
  if (written > 0) cut_off_ = true;  // what is there of it is damaged or doubled, and both is understood
  if (!std::exchange(reported_, true)) spdlog::error("{}", file_error("cannot write " + path_.string(), code).what());
}

void IndexLines::sync() {
  if (!std::exchange(unsynced_, false)) return;
  const UniqueFd fd = open_below(in_own_folder(path_), O_WRONLY);
  const UniqueFd folder = is_in_folder_ ? UniqueFd() : open_folder_of(in_own_folder(path_), O_RDONLY);
  const bool done = fd && ::fdatasync(fd.get()) == 0 && (is_in_folder_ || (folder && ::fsync(folder.get()) == 0));
  is_in_folder_ = is_in_folder_ || done;
  if (!done && !std::exchange(reported_, true))
    spdlog::error("{}", file_error("cannot put " + path_.string() + " on the disk", errno).what());
}

}  // namespace campipe
