#include "app/server/fragment_times.h"

#include "app/server/mp4_box.h"
#include "core/big_endian.h"

namespace campipe {
namespace {

// The 64 bits of the time; empty: there are none.
std::span<std::uint8_t> time_of(std::span<std::uint8_t> fragment) {
  constexpr std::size_t flags = 4;  // and the version before them
  const auto box = contents_of(fragment, "tfdt", flags + sizeof(std::uint64_t));
  const bool is_long = !box.empty() && box[0] == 1;
  return is_long ? box.subspan(flags, sizeof(std::uint64_t)) : std::span<std::uint8_t>();
}

}  // namespace

void FragmentTimes::place(std::span<std::uint8_t> fragment) {
  const auto bytes = time_of(fragment);
  if (bytes.empty()) return;
  const std::uint64_t time = get_big_endian(bytes.data(), sizeof time);
  if (last_ && time > *last_) step_ = time - *last_;
  if (last_) placed_ += step_;
  last_ = time;
  put_big_endian(placed_, sizeof placed_, bytes.data());
}

}  // namespace campipe
