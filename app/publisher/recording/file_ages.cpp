#include "app/publisher/recording/file_ages.h"

#include <algorithm>
#include <cstdlib>

#include "core/clock.h"

namespace campipe {
namespace {

constexpr std::int64_t second = 1'000'000'000;
// A clock that shows less has not been set: cameras' boxes without a battery begin in 1970.
constexpr std::int64_t clocks_are_set_after = 1'577'836'800 * second;  // 2020
constexpr std::int64_t clock_tolerance = 3600 * second;
constexpr std::int64_t longest_doubt = 24 * 3600 * second;  // of a clock, and the shortest gap that gives cause for it

// No file was closed then.
bool is_wrong(std::int64_t time, std::int64_t utc) {
  return time < clocks_are_set_after || time > utc + clock_tolerance;
}

}  // namespace

FileAges::FileAges() : made_at_(now_ns()), set_at_(made_at_), set_utc_(utc_now_ns()) {}

std::vector<std::int64_t> FileAges::of(const std::vector<ClosingTime>& files, std::int64_t utc) {
  look_at_clock(utc);
  const Gap doubted = doubted_gap(files, utc);
  std::vector<std::int64_t> ages;
  ages.reserve(files.size());
  for (const ClosingTime& file : files) ages.push_back(age_of(file, doubted, utc));
  return ages;
}

void FileAges::look_at_clock(std::int64_t utc) {
  const std::int64_t now = now_ns();
  const std::int64_t expected = set_utc_ + (now - set_at_);
  if (std::abs(utc - expected) <= clock_tolerance) return;
  utc_before_ = expected;
  set_utc_ = utc;
  set_at_ = now;
}

// A clock that is years ahead when the machine starts, or since a time server lied, must not have all deleted that was
// recorded before. Where nothing was recorded for long, the rig may have been off, or the clock has jumped: such a gap
// counts when a day has passed behind it.
FileAges::Gap FileAges::doubted_gap(const std::vector<ClosingTime>& files, std::int64_t utc) const {
  std::vector<std::int64_t> known{utc_before_, set_utc_};
  for (const ClosingTime& file : files) known.push_back(file.written);
  std::erase_if(known, [utc](std::int64_t time) { return is_wrong(time, utc); });
  std::ranges::sort(known);
  Gap doubted;
  for (std::size_t i = 1; i < known.size(); ++i) {
    const std::int64_t length = known[i] - known[i - 1];
    if (length > longest_doubt && utc - known[i] < longest_doubt) doubted = {known[i], length};
  }
  return doubted;
}

// Of files of this process it is known how long ago they were closed; those of others whose time cannot be right are at
// least as old as this process is.
std::int64_t FileAges::age_of(const ClosingTime& file, const Gap& doubted, std::int64_t utc) const {
  if (file.closed_at) return now_ns() - *file.closed_at;
  if (is_wrong(file.written, utc)) return now_ns() - made_at_;
  return utc - file.written - (file.written < doubted.end ? doubted.length : 0);
}

}  // namespace campipe
