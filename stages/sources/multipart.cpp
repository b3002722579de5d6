#include "stages/sources/multipart.h"

#include <string>

#include "stages/sources/io_beginning.h"

namespace campipe {
namespace {

constexpr std::size_t most_read = 4096;  // bytes, for the first boundary
constexpr std::string_view boundary = "--campipe\r\n";

// "Content-Type: image/jpeg"
bool is_header(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  return line.substr(0, colon).find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") ==
         std::string_view::npos;
}

// With its end, behind what was read before. Empty: there is none.
std::string read_line(AVIOContext& io, std::string& text) {
  std::string line;
  while (text.size() < most_read && !line.ends_with('\n')) {
    const std::size_t before = text.size();
    if (read_more(io, text, 1) < 0 || text.size() == before) return "";
    line += text.back();
  }
  return line.ends_with('\n') ? line : "";
}

}  // namespace

bool is_multipart(std::string_view type) { return type.starts_with("multipart/"); }

void begin_with_boundary(AVIOContext& io) {
  std::string text;
  std::size_t at = 0;  // of the line
  for (std::string line = read_line(io, text); !line.empty(); line = read_line(io, text)) {
    if (line.starts_with("--") || is_header(line)) {
      const std::string begin = line.starts_with("--") ? "" : std::string(boundary);
      // The empty lines before it are no harm.
      const bool as_it_is = begin.empty() && text.find_first_not_of("\r\n") == at;
      return put_back(io, as_it_is ? text : begin + text.substr(at), text.size());
    }
    at = text.size();
  }
  put_back(io, text, text.size());
}

}  // namespace campipe
