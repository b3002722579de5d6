#include "stages/sources/multipart.h"

#include <algorithm>
#include <array>

#include "core/ascii_case.h"
#include "core/c_callback.h"
#include "core/trimmed.h"
#include "stages/sources/io_beginning.h"

namespace campipe {
namespace {

constexpr std::size_t most_read = 4096;  // bytes, for the first boundary
constexpr std::string_view boundary = "--campipe\r\n";
constexpr std::size_t longest_head = 4096;  // of a part, with its boundary
constexpr std::string_view usual_type = "image/jpeg";
constexpr std::string_view head_begins = "\n--";

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

// With its end, or without.
std::string_view content_of(std::string_view line) { return trimmed(line, " \t\r\n"); }

// The first line of `text`, with its end if it has one, which is taken out of it.
std::string_view next_line(std::string_view& text) {
  const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
  const std::string_view line = text.substr(0, size);
  text.remove_prefix(size);
  return line;
}

bool is_text(std::string_view line) {
  return std::ranges::all_of(
      line, [](unsigned char letter) { return letter >= ' ' || letter == '\t' || letter == '\r' || letter == '\n'; });
}

// Of something that begins as a boundary, the bytes of its head; 0: it is none. More than there are: more of it is
// needed to know.
std::size_t size_of_part_head(std::string_view text) {
  constexpr std::size_t more = longest_head + 1;
  std::string_view rest = text.substr(0, longest_head);
  for (bool first = true; !rest.empty(); first = false) {
    const std::string_view line = next_line(rest);
    const bool whole = line.ends_with('\n');
    if (!is_text(line)) return 0;
    if (!whole) break;
    if (first) continue;
    if (content_of(line).empty())
      return text.size() < longest_head || !rest.empty() ? static_cast<std::size_t>(line.end() - text.begin()) : 0;
    if (!is_header(line)) return 0;
  }
  return text.size() < longest_head ? more : 0;
}

bool is_jpeg_by_another_name(std::string_view type) {
  constexpr std::array<std::string_view, 4> names{usual_type, "image/jpg", "image/pjpeg", "image/x-jpeg"};
  const std::string_view name = content_of(type.substr(0, type.find(';')));
  return !equal_without_case(content_of(type), usual_type) &&
         std::ranges::any_of(names, [&](std::string_view known) { return equal_without_case(name, known); });
}

std::string with_usual_type(std::string_view head) {
  const std::string usual = "Content-Type: " + std::string(usual_type) + "\r\n";
  std::string text(next_line(head));
  bool has_type = content_of(text).ends_with("--");  // behind the last part there is none
  while (!head.empty()) {
    const std::string_view line = next_line(head);
    const auto colon = line.find(':');
    const bool is_type =
        colon != std::string_view::npos && equal_without_case(content_of(line.substr(0, colon)), "content-type");
    if (content_of(line).empty() && !has_type) text += usual;
    has_type = has_type || is_type;
    text += is_type && is_jpeg_by_another_name(line.substr(colon + 1)) ? std::string_view(usual) : line;
  }
  return text;
}

}  // namespace

std::string PartHeads::take(std::string_view bytes) {
  waiting_ += bytes;
  std::string passed;
  std::string_view rest = waiting_;
  for (;;) {
    const bool begins = rest.starts_with(head_begins.substr(1));
    const std::size_t size = begins ? size_of_part_head(rest) : 0;
    if (size > rest.size()) break;
    if (size > 0) {
      passed += with_usual_type(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    const std::size_t next = rest.find(head_begins);
    if (next == std::string_view::npos) {
      std::size_t kept = head_begins.size() - 1;  // that may be its beginning
      while (!rest.ends_with(head_begins.substr(0, kept))) --kept;
      passed += rest.substr(0, rest.size() - kept);
      rest.remove_prefix(rest.size() - kept);
      break;
    }
    passed += rest.substr(0, next + 1);
    rest.remove_prefix(next + 1);
  }
  waiting_ = std::string(rest);
  return without_start(std::move(passed));
}

std::string PartHeads::without_start(std::string text) {
  if (!text.empty() && std::exchange(at_start_, false)) text.erase(0, 1);
  return text;
}

MultipartInput::MultipartInput(AVIOContext* from)
    : from_(from), io_(open_avio(4096, this, c_callback<&MultipartInput::read, AVERROR_EXTERNAL>, nullptr)) {}

MultipartInput::~MultipartInput() { avio_closep(&from_); }

int MultipartInput::read(void* self, std::uint8_t* to, int size) {
  return static_cast<MultipartInput*>(self)->hand_out(to, size);
}

int MultipartInput::hand_out(std::uint8_t* to, int size) {
  while (served_ == ready_.size()) {
    std::array<char, 16384> bytes;
    const int count =
        avio_read_partial(from_, static_cast<unsigned char*>(static_cast<void*>(bytes.data())), bytes.size());
    served_ = 0;
    ready_ = count > 0 ? heads_.take({bytes.data(), static_cast<std::size_t>(count)}) : heads_.rest();
    if (count <= 0 && ready_.empty()) return count < 0 ? count : AVERROR_EOF;
  }
  const std::size_t count = std::min(ready_.size() - served_, static_cast<std::size_t>(size));
  std::ranges::copy(std::string_view(ready_).substr(served_, count), to);
  served_ += count;
  return static_cast<int>(count);
}

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
