// Lines out of bytes that come in pieces. Each byte is looked at once, however the pieces and lines are cut.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace campipe {

class LineBuffer {
 public:
  // What comes is appended there.
  std::string& text() { return text_; }

  // The next line, without its end; nothing: none is complete.
  std::optional<std::string> next() {
    if (!has_line()) return std::nullopt;
    std::string line = text_.substr(begin_, searched_ - begin_);
    begin_ = ++searched_;
    // What was taken goes when it is as much as what is left, so that no byte is moved more often than once.
    if (begin_ >= text_.size() - begin_) {
      text_.erase(0, begin_);
      begin_ = searched_ = 0;
    }
    return line;
  }
  bool has_line() {
    searched_ = text_.find('\n', searched_);
    if (searched_ != std::string::npos) return true;
    searched_ = text_.size();
    return false;
  }
  void clear() {
    text_.clear();
    begin_ = searched_ = 0;
  }

 private:
  std::string text_;
  std::size_t begin_ = 0;     // of what was not taken yet
  std::size_t searched_ = 0;  // for the next line's end; behind has_line() it stands there
};

}  // namespace campipe
