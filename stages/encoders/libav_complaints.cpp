#include "stages/encoders/libav_complaints.h"

#include <algorithm>

extern "C" {
#include <libavutil/log.h>
}

namespace campipe {
namespace {

constexpr std::size_t max_lines = 16;

}  // namespace

LibavComplaints::LibavComplaints() {
  install_libav_log();
  listen_to_libav(this);
}

LibavComplaints::~LibavComplaints() { listen_to_libav(nullptr); }

void LibavComplaints::hear(int level, const std::string& piece) {
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

std::string LibavComplaints::find_any(const std::vector<std::string>& texts) const {
  const auto contains_one = [&](const Line& line) {
    return std::ranges::any_of(texts,
                               [&](const std::string& text) { return line.text.find(text) != std::string::npos; });
  };
  const auto line = std::ranges::find_if(lines_, contains_one);
  return line == lines_.end() ? std::string() : line->text;
}

}  // namespace campipe
