#include "core/libav_log.h"

#include <spdlog/spdlog.h>

#include <array>
#include <cstdarg>

#include "core/c_callback.h"
#include "core/passwords.h"

extern "C" {
#include <libavutil/log.h>
}

namespace campipe {
namespace {

thread_local LibavListener* this_threads_listener = nullptr;

void on_message(void* object, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_WARNING) return;
  std::array<char, 1024> text{};
  int with_prefix = this_threads_listener == nullptr ? 1 : 0;
  av_log_format_line2(object, level, format, arguments, text.data(), text.size(), &with_prefix);
  std::string line = text.data();
  if (this_threads_listener != nullptr) return this_threads_listener->hear(level, line);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  if (!line.empty()) spdlog::debug("libav: {}", without_passwords(line));
}

}  // namespace

void install_libav_log() { av_log_set_callback(c_callback<on_message>); }

void listen_to_libav(LibavListener* listener) { this_threads_listener = listener; }

}  // namespace campipe
