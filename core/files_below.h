// Files below a folder into which other accounts of this machine may write, too: nothing that they put there leads
// elsewhere, holds anybody up, or is taken for a file.
//
// Such a path has two parts. `folder` is the user's, who may make it a symbolic link. `name` leads down from there, and
// nothing is known of it: where a part of it is a symbolic link, or "..", it is refused with ELOOP; what is there and
// is not a regular file with ENXIO, without waiting for the other end of a pipe. Folders are opened one by one, each
// relative to the one before, so that none can be exchanged in between.
//
// Any thread. What fails leaves the reason in errno, unless it throws.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/unique_handle.h"

namespace campipe {

struct PathBelow {
  std::filesystem::path folder;  // empty: the current one
  std::filesystem::path name;
  [[nodiscard]] std::string whole() const { return folder / name; }
};

// `path` as one that lies below `folder`. Where it would lie elsewhere, every use of it is refused.
PathBelow path_below(const std::filesystem::path& folder, const std::filesystem::path& path);
// The user vouches for all folders of `path`.
PathBelow in_own_folder(const std::filesystem::path& path);

// system_error(), in words that fit such a path.
SystemError file_error(const std::string& what, int code);

// Opens a regular file as open(2) does.
UniqueFd open_below(const PathBelow& path, int flags, mode_t mode = 0);
// Opens the folder in which it lies.
UniqueFd open_folder_of(const PathBelow& path, int flags);
// Makes the folders that are missing, those of `folder` too.
bool make_folders_of(const PathBelow& path);
// As lstat(2), of anything that may be there.
bool status_below(const PathBelow& path, struct stat& status);
// Nothing is there. False where that cannot be found out, too: a disk that fails, a link on the way.
bool is_gone(const PathBelow& path);
// Removes the file, or whatever has taken its place but for a folder.
bool remove_below(const PathBelow& path);

// All of it. Throws SystemError, which names `path`.
void write_all(const UniqueFd& fd, std::span<const std::uint8_t> bytes, const std::string& path);

// A file that takes another one's place in one step: a reader sees the old one or the new one. Until then it
// lies beside it under another name, always the same, so that a process that dies leaves one such file at most.
// Throws SystemError.
class ReplacingFile {
 public:
  // `meanwhile`: that name. What has it is removed.
  ReplacingFile(const PathBelow& path, std::string meanwhile);
  // Without replace(): as if there had been none.
  ~ReplacingFile();
  ReplacingFile(const ReplacingFile&) = delete;
  ReplacingFile& operator=(const ReplacingFile&) = delete;

  void write(std::string_view text);
  void write(std::span<const std::uint8_t> bytes);
  void replace();

 private:
  PathBelow path_;
  std::string meanwhile_;
  UniqueFd folder_;
  UniqueFd fd_;
};

}  // namespace campipe
