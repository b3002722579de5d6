#include "core/files_below.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace campipe {
namespace {

namespace fs = std::filesystem;

// An index or a request may contain anything.
bool leads_down(const fs::path& name) {
  return name.is_relative() && name.native().find('\0') == std::string::npos &&
         std::find(name.begin(), name.end(), fs::path("..")) == name.end();
}

bool is_link(int folder, const fs::path& part) {
  struct stat status {};
  return ::fstatat(folder, part.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

// Folder `part` of `folder`.
UniqueFd enter(int folder, const fs::path& part, int flags) {
  UniqueFd fd(::openat(folder, part.c_str(), flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd) return fd;
  const int code = errno;  // of a link: that it is no folder
  errno = code == ENOTDIR && is_link(folder, part) ? ELOOP : code;
  return fd;
}

// The folder in which `path` lies; those on the way to it are only passed through, and made where they are missing.
UniqueFd walk(const PathBelow& path, int flags, bool make) {
  if (!leads_down(path.name)) {
    errno = ELOOP;
    return {};
  }
  const fs::path below = path.name.parent_path();
  const fs::path root = path.folder.empty() ? fs::path(".") : path.folder;
  UniqueFd folder(::open(root.c_str(), (below.empty() ? flags : O_PATH) | O_DIRECTORY | O_CLOEXEC));
  for (auto part = below.begin(); folder && part != below.end(); ++part) {
    if (make && ::mkdirat(folder.get(), part->c_str(), 0777) != 0 && errno != EEXIST) return {};
    folder = enter(folder.get(), *part, std::next(part) == below.end() ? flags : O_PATH);
  }
  return folder;
}

// What is not a regular file is none.
UniqueFd regular(UniqueFd fd) {
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return {};
  if (S_ISREG(status.st_mode)) return fd;
  errno = ENXIO;
  return {};
}

}  // namespace

PathBelow path_below(const fs::path& folder, const fs::path& path) {
  const bool here = folder.empty() || folder == ".";
  return {here ? fs::path() : folder, path.lexically_proximate(here ? fs::path(".") : folder)};
}

PathBelow in_own_folder(const fs::path& path) { return {path.parent_path(), path.filename()}; }

SystemError file_error(const std::string& what, int code) {
  if (code == ELOOP) return SystemError(what + ": a symbolic link is in its place or on the way there");
  if (code == ENXIO) return SystemError(what + ": what is there is not a regular file");
  return system_error(what, code);
}

UniqueFd open_below(const PathBelow& path, int flags, mode_t mode) {
  const UniqueFd folder = walk(path, O_PATH, false);
  if (!folder) return {};
  return regular(UniqueFd(
      ::openat(folder.get(), path.name.filename().c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode)));
}

UniqueFd open_folder_of(const PathBelow& path, int flags) { return walk(path, flags, false); }

bool make_folders_of(const PathBelow& path) {
  std::error_code error;
  if (!path.folder.empty()) fs::create_directories(path.folder, error);
  std::error_code unknown;
  if (error == std::errc::file_exists && !fs::exists(path.folder, unknown))  // a link whose target is not there
    error = std::make_error_code(std::errc::no_such_file_or_directory);
  if (error) errno = error.value();
  return !error && walk(path, O_PATH, true);
}

bool status_below(const PathBelow& path, struct stat& status) {
  const UniqueFd folder = walk(path, O_PATH, false);
  return folder && ::fstatat(folder.get(), path.name.filename().c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool is_gone(const PathBelow& path) {
  struct stat status {};
  return !status_below(path, status) && (errno == ENOENT || errno == ENOTDIR);
}

bool remove_below(const PathBelow& path) {
  const UniqueFd folder = walk(path, O_PATH, false);
  return folder && ::unlinkat(folder.get(), path.name.filename().c_str(), 0) == 0;
}

void write_all(const UniqueFd& fd, std::span<const std::uint8_t> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw file_error("cannot write " + path, written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

ReplacingFile::ReplacingFile(const PathBelow& path, std::string meanwhile)
    : path_(path), meanwhile_(std::move(meanwhile)), folder_(walk(path, O_PATH, false)) {
  if (folder_) ::unlinkat(folder_.get(), meanwhile_.c_str(), 0);  // opening reports what is wrong
  if (folder_) {
    fd_.reset(::openat(folder_.get(), meanwhile_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  }
  if (!fd_) throw file_error("cannot make " + (fs::path(path_.whole()).parent_path() / meanwhile_).string(), errno);
}

ReplacingFile::~ReplacingFile() {
  if (fd_) ::unlinkat(folder_.get(), meanwhile_.c_str(), 0);  // it would only fill a full disk
}

void ReplacingFile::write(std::string_view text) {
  write(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

void ReplacingFile::write(std::span<const std::uint8_t> bytes) { write_all(fd_, bytes, path_.whole()); }

void ReplacingFile::replace() {
  const std::string name = path_.name.filename();
  if (::renameat(folder_.get(), meanwhile_.c_str(), folder_.get(), name.c_str()) != 0)
    throw file_error("cannot replace " + path_.whole(), errno);
  fd_.reset();
}

}  // namespace campipe
