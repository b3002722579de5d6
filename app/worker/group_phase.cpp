#include "app/worker/group_phase.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace campipe {
namespace {

constexpr double looked_at = 5;  // s
constexpr long least = 4;        // sets
constexpr long most = 256;       // the page remembers more

}  // namespace

GroupPhase::GroupPhase(std::shared_ptr<const GroupPage> page, double rate)
    : page_(std::move(page)),
      rate_(rate),
      window_(static_cast<std::uint64_t>(std::clamp(std::lround(looked_at * rate), least, most))) {}

std::int64_t GroupPhase::due(std::uint64_t set) const {
  return std::llround(static_cast<long double>(set) * 1e9L / rate_);
}

// What the page says may be anything: a frame is of the set that it is nearest to, and no farther than one set from it.
std::optional<std::int64_t> GroupPhase::behind(std::uint64_t set) const {
  return page_->taken_after(set, due(set), due(1));
}

std::optional<std::int64_t> GroupPhase::taken(std::uint64_t set) {
  const std::uint64_t first = set - std::min(set, window_ - 1);
  if (!newest_ || *newest_ < first || *newest_ > set) {
    behind_.clear();
    newest_ = first - 1;
  }
  while (*newest_ != set) behind_.push_back(behind(++*newest_));
  while (behind_.size() > window_) behind_.pop_front();
  known_.clear();
  for (const auto& one : behind_) {
    if (one) known_.push_back(*one);
  }
  if (known_.empty()) return std::nullopt;
  const auto middle = known_.begin() + (std::ssize(known_) - 1) / 2;
  std::ranges::nth_element(known_, middle);
  return due(set) + *middle;
}

}  // namespace campipe
