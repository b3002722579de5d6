// How old files are, by a clock that may jump, again and again: when the machine starts with a wrong one, or a time
// server lies. A jump makes no file older. What the clock says of the time between two files counts where the machine's
// monotonic clock says so, too, or once the clock has been right for a day since. Times in ns, UTC by this machine's
// clock unless called monotonic.
//
// Used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace campipe {

// A time by the monotonic clock, which begins anew with each start of the machine.
struct UpTime {
  std::string boot;  // which start; see this_boot()
  std::int64_t ns = 0;
};
// Of this machine's present start; empty: the kernel does not say.
const std::string& this_boot();

// When a file was closed.
struct ClosingTime {
  std::int64_t written = 0;       // by the clock as it was
  std::optional<UpTime> up = {};  // nothing: that is not known
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
  [[nodiscard]] std::vector<Gap> doubted_gaps(const std::vector<ClosingTime>& files, std::int64_t utc) const;
  [[nodiscard]] std::int64_t age_of(const ClosingTime& file, const std::vector<Gap>& doubted, std::int64_t utc) const;

  std::int64_t made_at_;            // monotonic
  std::int64_t set_at_;             // monotonic: when the clock jumped last, or this was made
  std::int64_t set_utc_;            // what it showed then
  std::vector<ClosingTime> jumps_;  // what it showed before and behind each jump, when nothing had passed between
};

}  // namespace campipe
