// What libav says about an option or an encoder while it refuses it, so that the user reads the reason and not
// "Invalid argument". libav only logs it, hence this detour through its log.
#pragma once

#include <string>
#include <vector>

namespace campipe {

// While one lives, warnings and errors that libav logs on this thread are collected here instead of logged.
// One at a time on a thread; other threads' messages go where core/log.h sends them.
class LibavComplaints {
 public:
  LibavComplaints();
  ~LibavComplaints();
  LibavComplaints(const LibavComplaints&) = delete;
  LibavComplaints& operator=(const LibavComplaints&) = delete;

  // The errors, in one line; nothing was said: empty.
  [[nodiscard]] std::string errors() const;
  // The first message, of whatever level, that contains `text`; empty if none does.
  [[nodiscard]] std::string find(const std::string& text) const;

  void add(int level, const std::string& piece);  // for libav's callback: a piece of a line

 private:
  struct Line {
    int level;
    std::string text;
    bool complete;
  };
  std::vector<Line> lines_;
};

}  // namespace campipe
