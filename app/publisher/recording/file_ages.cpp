#include "app/publisher/recording/file_ages.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "core/clock.h"
#include "core/first_word.h"
#include "core/nanoseconds.h"

namespace campipe {
namespace {

// A clock that shows less has not been set: cameras' boxes without a battery begin in 1970.
constexpr std::int64_t clocks_are_set_after = 1'577'836'800 * ns_per_s;  // 2020
constexpr std::int64_t clock_tolerance = 3600 * ns_per_s;
constexpr std::int64_t longest_doubt =
    24 * 3600 * ns_per_s;               // of a clock, and the shortest gap that gives cause for it
constexpr std::size_t most_jumps = 16;  // that are thought possible; what is before counts

// No file was closed then.
bool is_wrong(std::int64_t time, std::int64_t utc) {
  return time < clocks_are_set_after || time > utc + clock_tolerance;
}

// How much of the time between them has not passed, by the monotonic clock; nothing: that does not say.
std::optional<std::int64_t> jump_between(const ClosingTime& earlier, const ClosingTime& later) {
  if (!earlier.up || !later.up || earlier.up->boot != later.up->boot) return std::nullopt;
  return later.written - earlier.written - (later.up->ns - earlier.up->ns);
}

}  // namespace

const std::string& this_boot() {
  static const std::string boot = first_word_of("/proc/sys/kernel/random/boot_id");
  return boot;
}

FileAges::FileAges() : made_at_(now_ns()), set_at_(made_at_), set_utc_(utc_now_ns()) {}

std::vector<std::int64_t> FileAges::of(const std::vector<ClosingTime>& files, std::int64_t utc) {
  look_at_clock(utc);
  const std::vector<Gap> doubted = doubted_gaps(files, utc);
  std::vector<std::int64_t> ages;
  ages.reserve(files.size());
  for (const ClosingTime& file : files) ages.push_back(age_of(file, doubted, utc));
  return ages;
}

void FileAges::look_at_clock(std::int64_t utc) {
  const std::int64_t now = now_ns();
  const std::int64_t expected = set_utc_ + (now - set_at_);
  if (std::abs(utc - expected) <= clock_tolerance) return;
  if (jumps_.size() >= 2 * most_jumps) jumps_.erase(jumps_.begin(), jumps_.begin() + 2);
  const UpTime up{this_boot(), now};
  jumps_.push_back({expected, up});
  jumps_.push_back({utc, up});
  set_utc_ = utc;
  set_at_ = now;
}

// From the newest on: where nothing was recorded for long, the rig may have been off, or the clock has jumped. Such a
// gap counts when a day has passed behind it, without others that are doubted themselves. What the monotonic clock
// knows to be a jump never counts.
std::vector<FileAges::Gap> FileAges::doubted_gaps(const std::vector<ClosingTime>& files, std::int64_t utc) const {
  std::vector<ClosingTime> known = jumps_;
  known.push_back({set_utc_, UpTime{this_boot(), set_at_}});
  known.insert(known.end(), files.begin(), files.end());
  std::erase_if(known, [utc](const ClosingTime& time) { return is_wrong(time.written, utc); });
  std::ranges::stable_sort(known, {}, &ClosingTime::written);
  std::vector<Gap> doubted;
  std::int64_t doubted_length = 0;
  for (std::size_t i = known.size(); i-- > 1 && doubted.size() < most_jumps;) {
    const ClosingTime& later = known[i];
    const std::int64_t length = later.written - known[i - 1].written;
    const std::int64_t passed = utc - later.written - doubted_length;
    const auto jump = jump_between(known[i - 1], later);
    const bool is_jump = jump && *jump > clock_tolerance;
    const bool is_doubted = !jump && length > longest_doubt && passed < longest_doubt;
    if (!is_jump && !is_doubted) continue;
    doubted.push_back({later.written, is_jump ? *jump : length});
    doubted_length += doubted.back().length;
  }
  return doubted;
}

// The monotonic clock bounds the age of a file that was closed since the machine started. Another file whose time
// cannot be right is at least as old as this process.
std::int64_t FileAges::age_of(const ClosingTime& file, const std::vector<Gap>& doubted, std::int64_t utc) const {
  const bool is_wrong_time = is_wrong(file.written, utc);
  if (file.up && !file.up->boot.empty() && file.up->boot == this_boot()) {
    // Another namespace of time may count from elsewhere.
    const std::int64_t passed = now_ns() - file.up->ns;
    return is_wrong_time ? passed : std::min(passed, utc - file.written);
  }
  if (is_wrong_time) return now_ns() - made_at_;
  return std::accumulate(doubted.begin(), doubted.end(), utc - file.written, [&](std::int64_t age, const Gap& gap) {
    return age - (file.written < gap.end ? gap.length : 0);
  });
}

}  // namespace campipe
