#include "core/replace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "core/unique_handle.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

void write_all(int fd, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno != EINTR) throw system_error("cannot write " + name, errno);
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd) != 0) throw system_error("cannot write " + name, errno);
}

// The folder, too: else a power cut could undo the renaming.
void keep_folder(const fs::path& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) throw system_error("cannot put " + folder.string() + " on the disk", errno);
}

}  // namespace

void replace_file(const fs::path& file, std::string_view text) {
  std::string temporary = file.string() + ".XXXXXX";
  const UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) throw system_error("cannot write beside " + file.string(), errno);
  try {
    write_all(fd.get(), text, temporary);
    if (std::rename(temporary.c_str(), file.c_str()) != 0) throw system_error("cannot replace " + file.string(), errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  keep_folder(file.has_parent_path() ? file.parent_path() : fs::path("."));
}

}  // namespace campipe
