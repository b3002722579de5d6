// Lets at most so many frames a second through, by their times, evenly.
#pragma once

#include <cstdint>
#include <optional>

namespace campipe {

// Used by one thread.
class RateLimit {
 public:
  explicit RateLimit(double rate) : interval_(rate > 0 ? static_cast<std::int64_t>(1e9 / rate) : 0) {}
  bool takes(std::int64_t pts);
  // When the next frame is due; nothing: none has come. Another worker's may go on with it.
  [[nodiscard]] std::optional<std::int64_t> due() const { return due_; }
  void go_on(std::optional<std::int64_t> due) { due_ = due; }

 private:
  std::int64_t interval_;  // ns; 0: no limit
  std::optional<std::int64_t> due_;
};

}  // namespace campipe
