#include "app/publisher/server/rtsp/framing.h"

#include <algorithm>
#include <charconv>

#include "core/ascii_case.h"
#include "core/trimmed.h"

namespace campipe {
namespace {

bool is_control(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  return (code < ' ' && letter != '\t') || code == 0x7F;
}

std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  const auto word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

void RtspFraming::add(std::span<const char> bytes) {
  // Here, not where a message was taken: many small ones may have come at once.
  bytes_.erase(0, begin_);
  line_ -= begin_;
  begin_ = 0;
  bytes_.append(bytes.data(), bytes.size());
  look();
}

std::size_t RtspFraming::take(std::span<char> room) {
  const std::size_t count = std::min(room.size(), whole_ - taken_);
  std::copy_n(bytes_.data() + begin_ + taken_, count, room.begin());
  taken_ += count;
  if (taken_ < whole_) return count;
  begin_ += whole_;
  line_ = begin_;
  whole_ = taken_ = 0;
  look();
  return count;
}

std::string RtspFraming::take_rest() {
  std::string rest = bytes_.substr(begin_ + taken_);
  bytes_.clear();
  begin_ = whole_ = taken_ = line_ = 0;
  body_.reset();
  began_.reset();
  return rest;
}

void RtspFraming::look() {
  if (whole_ > 0 || !refusal_.empty()) return;
  // Between messages they mean nothing.
  if (line_ == begin_) line_ = begin_ = std::min(bytes_.find_first_not_of("\r\n", begin_), bytes_.size());
  if (begin_ == bytes_.size()) {
    began_.reset();
    return;
  }
  if (!began_) began_ = Clock::now();
  if (bytes_[begin_] == '$') {
    look_at_frame();
  } else {
    look_at_lines();
  }
  if (whole_ == 0) return;
  line_ = begin_;
  body_.reset();
  began_.reset();
}

// '$', a channel, the length of what follows.
void RtspFraming::look_at_frame() {
  constexpr std::size_t header = 4;
  const std::size_t there = bytes_.size() - begin_;
  if (there < header) return;
  const auto at = [this](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes_[begin_ + i]));
  };
  const std::size_t size = header + at(2) * 256 + at(3);
  if (there >= size) whole_ = size;
}

void RtspFraming::look_at_lines() {
  while (refusal_.empty()) {
    const auto end = bytes_.find('\n', line_);
    if (std::min(end, bytes_.size()) - line_ > longest_line) return refuse("a line is too long");
    if (std::min(end, bytes_.size()) - begin_ > longest_header) return refuse("the headers are too long");
    if (end == std::string::npos) return;
    const std::string_view line(bytes_.data() + line_, end - line_);
    if (!line.ends_with('\r')) return refuse("a line does not end with CR LF");
    if (line.size() == 1) {
      const std::size_t size = end + 1 + body_.value_or(0);
      // Not looked at again before all of it is there.
      if (bytes_.size() >= size) whole_ = size - begin_;
      return;
    }
    look_at_line(line.substr(0, line.size() - 1));
    line_ = end + 1;
  }
}

void RtspFraming::look_at_line(std::string_view line) {
  if (std::ranges::any_of(line, is_control)) return refuse("there are control characters in it");
  if (line_ == begin_) return look_at_request(line);
  if (line.front() == ' ' || line.front() == '\t') return refuse("a header goes on in the next line");
  look_at_header(line);
}

void RtspFraming::look_at_request(std::string_view line) {
  const std::string_view method = take_word(line);
  take_word(line);
  const std::string_view version = take_word(line);
  const auto begins = [](std::string_view word, std::string_view with) {
    return equal_without_case(word.substr(0, with.size()), with);
  };
  if (begins(method, "RTSP") || begins(method, "HTTP")) return refuse("it is no request");
  if (begins(version, "HTTP")) return refuse("it is HTTP");
}

void RtspFraming::look_at_header(std::string_view line) {
  const auto colon = line.find(':');
  const std::string_view name = trimmed(line.substr(0, colon));
  if (equal_without_case(name, "pipelined-requests")) return refuse("its requests are pipelined");
  if (!equal_without_case(name, "content-length")) return;
  const std::string_view value = colon == std::string_view::npos ? "" : trimmed(line.substr(colon + 1));
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
  if (body_ || error != std::errc() || end != value.data() + value.size()) return refuse("its length is not clear");
  if (size > longest_body) return refuse("its body is too long");
  body_ = size;
}

void RtspFraming::refuse(const char* why) {
  refusal_ = why;
  bytes_.clear();
  begin_ = line_ = 0;
}

}  // namespace campipe
