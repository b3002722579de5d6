#include "stages/encoders/libav_complaints.h"

#include <algorithm>
#include <array>
#include <cstdarg>

#include "core/ffmpeg.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr std::size_t max_lines = 16;

thread_local LibavComplaints* collector = nullptr;

void collect_or_log(void* object, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_WARNING) return;
  std::array<char, 1024> text{};
  int with_prefix = collector == nullptr ? 1 : 0;
  av_log_format_line2(object, level, format, arguments, text.data(), text.size(), &with_prefix);
  std::string line = text.data();
  if (collector != nullptr) {
    collector->add(level, line);
    return;
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  if (!line.empty()) spdlog::debug("libav: {}", line);
}

}  // namespace

// libav does not tell which callback it has, so the old one cannot be put back: this one stays, and does for
// messages that nobody collects what core/log.cpp does. It is set each time because init_logging may come later.
LibavComplaints::LibavComplaints() {
  collector = this;
  av_log_set_callback(collect_or_log);
}

LibavComplaints::~LibavComplaints() { collector = nullptr; }

void LibavComplaints::add(int level, const std::string& piece) {
  const bool complete = piece.ends_with('\n');
  const std::string text = piece.substr(0, piece.find_last_not_of("\r\n") + 1);
  if (!lines_.empty() && !lines_.back().complete) {
    lines_.back().text += text;
    lines_.back().complete = complete;
  } else if (!text.empty() && lines_.size() < max_lines) {
    lines_.push_back({level, text, complete});
  }
}

std::string LibavComplaints::errors() const {
  std::string joined;
  for (const Line& line : lines_) {
    if (line.level > AV_LOG_ERROR) continue;
    if (!joined.empty()) joined += "; ";
    joined += line.text;
  }
  return joined;
}

std::string LibavComplaints::find(const std::string& text) const {
  const auto line = std::ranges::find_if(lines_, [&](const Line& l) { return l.text.find(text) != std::string::npos; });
  return line == lines_.end() ? std::string() : line->text;
}

}  // namespace campipe
