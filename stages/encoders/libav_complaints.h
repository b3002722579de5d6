// What libav says about an option or an encoder while it refuses it, so that the user reads the reason and not
// "Invalid argument". libav only logs it, hence this detour through its log.
#pragma once

#include <string>
#include <vector>

#include "core/libav_log.h"

namespace campipe {

// While one lives, warnings and errors that libav logs on this thread are collected here instead of logged.
// One at a time on a thread; other threads' messages go to the log.
class LibavComplaints final : public LibavListener {
 public:
  LibavComplaints();
  ~LibavComplaints() override;
  LibavComplaints(const LibavComplaints&) = delete;
  LibavComplaints& operator=(const LibavComplaints&) = delete;

  // The errors, in one line; nothing was said: empty.
  [[nodiscard]] std::string errors() const;
  // The first message, of whatever level, that contains one of `texts`; empty if none does.
  [[nodiscard]] std::string find_any(const std::vector<std::string>& texts) const;

  void hear(int level, const std::string& piece) override;

 private:
  struct Line {
    int level;
    std::string text;
    bool complete;
  };
  std::vector<Line> lines_;
};

}  // namespace campipe
