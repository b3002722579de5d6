#include "app/server/fragment_times.h"

#include <algorithm>
#include <string_view>

namespace campipe {
namespace {

// The 64 bits of the time; empty: there are none.
std::span<std::uint8_t> time_of(std::span<std::uint8_t> fragment) {
  constexpr std::string_view name = "tfdt";
  constexpr std::size_t flags = 4;  // and the version before them
  const auto found = std::search(fragment.begin(), fragment.end(), name.begin(), name.end());
  const auto at = static_cast<std::size_t>(found - fragment.begin()) + name.size();
  const bool is_long = at + flags + sizeof(std::uint64_t) <= fragment.size() && fragment[at] == 1;
  return is_long ? fragment.subspan(at + flags, sizeof(std::uint64_t)) : std::span<std::uint8_t>();
}

}  // namespace

void FragmentTimes::place(std::span<std::uint8_t> fragment) {
  const auto bytes = time_of(fragment);
  if (bytes.empty()) return;
  std::uint64_t time = 0;
  for (const std::uint8_t byte : bytes) time = time << 8U | byte;
  if (last_ && time > *last_) step_ = time - *last_;
  if (last_) placed_ += step_;
  last_ = time;
  std::uint64_t rest = placed_;
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte, rest >>= 8U) *byte = static_cast<std::uint8_t>(rest);
}

}  // namespace campipe
