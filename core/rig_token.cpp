#include "core/rig_token.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "core/error.h"
#include "core/own_folders.h"
#include "core/random_bytes.h"
#include "core/unique_handle.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t token_size = 64;
constexpr const char* service_folder = "/var/lib/campipe";  // as configs/campipe.service has it

std::string name_of(std::uint16_t port) { return "token-" + std::to_string(port); }

// In one step: who reads it finds all of it, or the one before.
void put(const fs::path& file, const std::string& text) {
  std::string temporary = file.string() + ".XXXXXX";
  const UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));  // of mode 0600
  if (!fd) throw system_error("cannot write " + file.string(), errno);
  const bool written = ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (written && std::rename(temporary.c_str(), file.c_str()) == 0) return;
  const int error = errno;
  ::unlink(temporary.c_str());
  throw system_error("cannot write " + file.string(), error);
}

}  // namespace

RigToken::RigToken(std::uint16_t port) : text_(random_hex(token_size / 2)) {
  const auto folder = runtime_folder();
  if (!folder) throw Error("neither XDG_RUNTIME_DIR nor HOME names a folder");
  make_own_folder(*folder);
  file_ = *folder / name_of(port);
  put(file_, text_);
}

RigToken::~RigToken() {
  if (read_token(file_) == text_) ::unlink(file_.c_str());
}

std::vector<fs::path> token_files(std::uint16_t port) {
  std::vector<fs::path> files;
  if (const auto folder = runtime_folder()) files.push_back(*folder / name_of(port));
  if (const auto folder = state_folder()) files.push_back(*folder / name_of(port));
  files.push_back(fs::path(service_folder) / name_of(port));
  return files;
}

std::optional<std::string> read_token(const fs::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return std::nullopt;
  std::array<char, token_size + 2> bytes{};
  const ssize_t size = ::read(fd.get(), bytes.data(), bytes.size());
  std::string text(bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  if (text.ends_with('\n')) text.pop_back();
  const bool good = text.size() == token_size && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  return good ? std::optional(text) : std::nullopt;
}

}  // namespace campipe
