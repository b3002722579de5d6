#include "core/own_folders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "core/error.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

// Of several, separated by ':', the first; nothing: it is not set, or not a folder's whole path.
std::optional<fs::path> folder_of(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value != '/') return std::nullopt;
  const std::string text = value;
  return text.substr(0, text.find(':'));
}

void make_folder(const fs::path& folder) {
  if (folder.empty() || fs::is_directory(folder)) return;
  make_folder(folder.parent_path());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw system_error("cannot make the folder " + folder.string(), errno);
}

// What another account put there in advance would be its to read and to replace.
void require_own(const fs::path& folder) {
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0) throw system_error("cannot look at the folder " + folder.string(), errno);
  const bool link = S_ISLNK(info.st_mode);
  if (link && info.st_uid != 0) {  // the system's administrator may have moved it
    throw Error(folder.string() + " is a symbolic link; put a folder of this account in its place");
  }
  if (link && ::stat(folder.c_str(), &info) != 0)
    throw system_error("cannot look at the folder " + folder.string(), errno);
  if (info.st_uid == ::geteuid()) return;
  throw Error(folder.string() + " belongs to another account (user id " + std::to_string(info.st_uid) +
              "); remove it, or give it to this one (chown " + std::to_string(::geteuid()) + ")");
}

}  // namespace

std::optional<fs::path> state_folder() {
  if (auto given = folder_of("STATE_DIRECTORY")) return given;
  if (const auto home = folder_of("XDG_STATE_HOME")) return *home / "campipe";
  if (const auto home = folder_of("HOME")) return *home / ".local/state/campipe";
  return std::nullopt;
}

std::optional<fs::path> runtime_folder() {
  const auto given = folder_of("XDG_RUNTIME_DIR");
  return given ? std::optional(*given / "campipe") : state_folder();
}

std::optional<fs::path> cache_folder() {
  if (auto given = folder_of("CACHE_DIRECTORY")) return given;
  if (const auto home = folder_of("XDG_CACHE_HOME")) return *home / "campipe";
  if (const auto home = folder_of("HOME")) return *home / ".cache/campipe";
  return std::nullopt;
}

void make_own_folder(const fs::path& folder) {
  make_folder(folder);
  require_own(folder);
}

}  // namespace campipe
