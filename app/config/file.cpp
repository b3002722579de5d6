// Reading the file, with everything refused that is better not given to a parser.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "app/config/yaml.h"
#include "core/error.h"
#include "core/unique_handle.h"

namespace campipe {
namespace {

constexpr std::size_t max_file_size = 1 << 20;

ConfigError whole_file(std::string message) { return {0, 0, "", std::move(message)}; }

ConfigError at_byte(const std::string& text, std::size_t offset, std::string message) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(offset);
  const auto line_start = text.rfind('\n', offset == 0 ? std::string::npos : offset - 1);
  const bool first = offset == 0 || line_start == std::string::npos;
  return {1 + static_cast<int>(std::count(text.begin(), end, '\n')),
          1 + static_cast<int>(first ? offset : offset - line_start - 1), "", std::move(message)};
}

// The length of the character that begins at `at`, or 0 where that is not valid UTF-8.
std::size_t utf8_length(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80) return 0;
  }
  const unsigned second = byte(at + 1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool beyond_unicode = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return overlong || beyond_unicode ? 0 : length;
}

// The offset of the first byte that is not valid UTF-8; the size if there is none.
std::size_t first_bad_byte(const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return at;
}

const char* kind_of_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// At most one byte more than is allowed: fstat's size may be out of date, or 0 (below /proc).
std::optional<std::string> read_all(int fd) {
  std::string text(max_file_size + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::read(fd, text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  return text;
}

std::uint64_t digest_of(const std::string& text) { return std::hash<std::string>()(text); }

}  // namespace

bool is_utf8(const std::string& text) { return first_bad_byte(text) == text.size(); }

YamlResult read_yaml_file(const std::filesystem::path& file, std::uint64_t* digest) {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!fd) return whole_file(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return whole_file(std::string("cannot be read: ") + std::strerror(errno));
  if (!S_ISREG(info.st_mode)) {
    return whole_file(std::string("is ") + kind_of_file(info.st_mode) + ", expected a regular file");
  }
  const bool too_large = info.st_size > static_cast<off_t>(max_file_size);
  std::optional<std::string> text = too_large ? std::string() : read_all(fd.get());
  if (!text) return whole_file(std::string("cannot be read: ") + std::strerror(errno));
  if (too_large || text->size() > max_file_size) return whole_file("is larger than 1 MiB, the most that is read");
  if (const auto nul = text->find('\0'); nul != std::string::npos) {
    return at_byte(*text, nul, "a NUL byte: this is not a text file");
  }
  if (const auto bad = first_bad_byte(*text); bad < text->size()) {
    return at_byte(*text, bad, "not valid UTF-8: this is not a text file, or in another encoding");
  }
  if (digest != nullptr) *digest = digest_of(*text);
  return parse_yaml(std::move(*text));
}

std::string text_of_file(const std::filesystem::path& file, std::uint64_t digest) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  std::optional<std::string> text = fd ? read_all(fd.get()) : std::nullopt;
  if (!text) throw system_error("cannot read " + file.string(), errno);
  if (digest_of(*text) != digest) throw Error(file.string() + " was changed just now: try again");
  return std::move(*text);
}

}  // namespace campipe
