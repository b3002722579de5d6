// How old files are, by a clock that may jump: when the machine starts with a wrong one, or a time server lies. A jump
// makes no file older, or only a day later. Times in ns, UTC by this machine's clock unless called monotonic.
//
// Used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace campipe {

// When a file was closed.
struct ClosingTime {
  std::int64_t written = 0;                    // by the clock as it was
  std::optional<std::int64_t> closed_at = {};  // monotonic: by this process
};

class FileAges {
 public:
  FileAges();
  // Their ages at `utc`, as far as they are known, in the same order.
  std::vector<std::int64_t> of(const std::vector<ClosingTime>& files, std::int64_t utc);

 private:
  // Time that nothing shows but the clock, which may have jumped.
  struct Gap {
    std::int64_t end = 0;
    std::int64_t length = 0;
  };
  void look_at_clock(std::int64_t utc);
  [[nodiscard]] Gap doubted_gap(const std::vector<ClosingTime>& files, std::int64_t utc) const;
  [[nodiscard]] std::int64_t age_of(const ClosingTime& file, const Gap& doubted, std::int64_t utc) const;

  std::int64_t made_at_;         // monotonic
  std::int64_t set_at_;          // monotonic: when the clock jumped last, or this was made
  std::int64_t set_utc_;         // what it showed then
  std::int64_t utc_before_ = 0;  // and before
};

}  // namespace campipe
