#include "core/libav_log.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "core/c_callback.h"
#include "core/passwords.h"

extern "C" {
#include <libavutil/log.h>
}

namespace campipe {
namespace {

constexpr std::size_t most_kept = 16384;  // bytes
constexpr int most_errors = 16;           // that errors() joins
constexpr std::size_t most_challenges = 16;

thread_local LibavMessages* this_threads_messages = nullptr;

thread_local LibavHints this_threads_hints;

std::string argument_of(const char* format, va_list arguments) {
  std::array<char, 1024> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  return text.data();
}

// Behind the name of a header of HTTP; nothing: it is another one. `name`: with its colon, in lower case.
std::optional<std::string> value_of(const std::string& line, std::string_view name) {
  constexpr std::string_view begin = "header='";
  if (!line.starts_with(begin) || ::strncasecmp(line.c_str() + begin.size(), name.data(), name.size()) != 0) {
    return std::nullopt;
  }
  const std::size_t at = begin.size() + name.size();
  return line.substr(at, line.rfind('\'') - at);
}

void note_hints(int level, const char* format, va_list arguments) {
  LibavHints& hints = this_threads_hints;
  if (level == AV_LOG_TRACE && std::strcmp(format, "header='%s'\n") == 0) {
    const std::string line = argument_of(format, arguments);
    if (const auto location = value_of(line, "location: ")) hints.redirect = *location;
    const auto challenge = value_of(line, "www-authenticate:");
    if (challenge && hints.challenges.size() < most_challenges) hints.challenges.push_back(*challenge);
  } else if (level == AV_LOG_DEBUG && std::strncmp(format, "Format %s probed", 16) == 0) {
    const std::string line = argument_of(format, arguments);
    hints.format = line.substr(7, line.find(" probed") - 7);
  }
}

void on_message(void* object, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_WARNING) return note_hints(level, format, arguments);
  std::array<char, 1024> text{};
  int with_prefix = this_threads_messages == nullptr ? 1 : 0;
  av_log_format_line2(object, level, format, arguments, text.data(), text.size(), &with_prefix);
  if (this_threads_messages != nullptr) return this_threads_messages->add(level, text.data());
  std::string line = text.data();
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  if (!line.empty()) spdlog::debug("libav: {}", redact_urls(line));
}

}  // namespace

void install_libav_log() { av_log_set_callback(c_callback<on_message>); }

void LibavMessages::add(int level, std::string_view piece) {
  if (size_ > most_kept) return;
  size_ += piece.size();
  const bool complete = piece.ends_with('\n');
  piece = piece.substr(0, piece.find_last_not_of("\r\n") + 1);
  if (open_) {
    lines_.back().text += piece;
  } else if (!piece.empty()) {
    lines_.push_back({level, std::string(piece)});
    open_ = true;
  }
  if (complete) end_line();
}

void LibavMessages::end_line() {
  if (!std::exchange(open_, false)) return;
  std::string& line = lines_.back().text;
  line.erase(line.find_last_not_of(' ') + 1);
  if (redact_) spdlog::debug("libav: {}", redact_(line));
}

std::string LibavMessages::errors() const {
  std::string joined;
  int count = 0;
  for (const Line& line : lines_) {
    if (line.level > AV_LOG_ERROR || ++count > most_errors) continue;
    joined += (joined.empty() ? "" : "; ") + line.text;
  }
  return joined;
}

std::string LibavMessages::find_any(std::initializer_list<std::string_view> texts) const {
  const auto has_one = [&](const Line& line) {
    return std::ranges::any_of(texts, [&](std::string_view text) { return line.text.find(text) != std::string::npos; });
  };
  const auto line = std::ranges::find_if(lines_, has_one);
  return line == lines_.end() ? std::string() : line->text;
}

void LibavMessages::clear() {
  lines_.clear();
  open_ = false;
  size_ = 0;
}

LibavCapture::LibavCapture(LibavMessages& messages) {
  install_libav_log();
  this_threads_hints = {};
  this_threads_messages = &messages;
}

LibavCapture::~LibavCapture() { this_threads_messages = nullptr; }

LibavHints take_libav_hints() { return std::exchange(this_threads_hints, {}); }

}  // namespace campipe
