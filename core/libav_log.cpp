#include "core/libav_log.h"

#include <spdlog/spdlog.h>

#include <array>
#include <cstdarg>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/c_callback.h"
#include "core/passwords.h"

extern "C" {
#include <libavutil/log.h>
}

namespace campipe {
namespace {

thread_local LibavListener* this_threads_listener = nullptr;

thread_local LibavHints this_threads_hints;

std::string argument_of(const char* format, va_list arguments) {
  std::array<char, 1024> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  return text.data();
}

void note_hints(int level, const char* format, va_list arguments) {
  constexpr std::string_view location = "header='location: ";
  if (level == AV_LOG_TRACE && std::strcmp(format, "header='%s'\n") == 0) {
    const std::string line = argument_of(format, arguments);
    if (::strncasecmp(line.c_str(), location.data(), location.size()) != 0) return;
    this_threads_hints.redirect = line.substr(location.size(), line.rfind('\'') - location.size());
  } else if (level == AV_LOG_DEBUG && std::strncmp(format, "Format %s probed", 16) == 0) {
    const std::string line = argument_of(format, arguments);
    this_threads_hints.format = line.substr(7, line.find(" probed") - 7);
  }
}

void on_message(void* object, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_WARNING) return note_hints(level, format, arguments);
  std::array<char, 1024> text{};
  int with_prefix = this_threads_listener == nullptr ? 1 : 0;
  av_log_format_line2(object, level, format, arguments, text.data(), text.size(), &with_prefix);
  std::string line = text.data();
  if (this_threads_listener != nullptr) return this_threads_listener->hear(level, line);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  if (!line.empty()) spdlog::debug("libav: {}", redact_urls(line));
}

}  // namespace

void install_libav_log() { av_log_set_callback(c_callback<on_message>); }

void listen_to_libav(LibavListener* listener) { this_threads_listener = listener; }

LibavHints take_libav_hints() { return std::exchange(this_threads_hints, {}); }

}  // namespace campipe
