#include "app/publisher/server/live/fragment_times.h"

#include <algorithm>

#include "app/publisher/server/live/mp4_box.h"
#include "core/big_endian.h"

namespace campipe {
namespace {

constexpr std::size_t box_flags = 4;  // and the version before them
constexpr std::size_t of_id = sizeof(std::uint32_t);

// Tracks count from 1 on.
std::size_t track_of(std::span<const std::uint8_t> fragment) {
  const auto box = contents_of(fragment.subspan(producer_time_of(fragment)), "tfhd", box_flags + of_id);
  return box.empty() ? 0 : get_big_endian(box.data() + box_flags, of_id) - 1;
}

}  // namespace

// Behind the times of creation and of change, which have 64 bits in version 1.
void FragmentTimes::begin(std::span<const std::uint8_t> header) {
  constexpr std::size_t longest = box_flags + 2 * sizeof(std::uint64_t) + of_id;
  tracks_.clear();
  for (auto box = contents_of(header, "mdhd", longest); !box.empty(); box = contents_of(box, "mdhd", longest)) {
    const std::size_t at = box_flags + 2 * (box[0] == 1 ? sizeof(std::uint64_t) : sizeof(std::uint32_t));
    tracks_.emplace_back().scale = std::max<Time>(static_cast<Time>(get_big_endian(box.data() + at, of_id)), 1);
  }
}

void FragmentTimes::place(std::span<std::uint8_t> fragment) {
  const auto bytes = time_of_fragment(fragment);
  const std::size_t number = track_of(fragment);
  if (bytes.empty() || number >= tracks_.size()) return;
  Track& track = tracks_[number];
  const Time time = static_cast<Time>(get_big_endian(bytes.data(), sizeof time));
  track.placed = number == 0 ? place_first(time) : place_beside(track, time);
  track.last = time;
  put_big_endian(static_cast<std::uint64_t>(track.placed), sizeof time, bytes.data());
  if (producer_time_of(fragment) == 0) return;
  std::uint8_t* const shown = fragment.data() + producer_media_time_at;
  const Time moved = track.placed - time;
  put_big_endian(get_big_endian(shown, sizeof moved) + static_cast<std::uint64_t>(moved), sizeof moved, shown);
}

FragmentTimes::Time FragmentTimes::place_first(Time time) {
  const Track& track = tracks_.front();
  if (track.last && time > *track.last) step_ = time - *track.last;
  const Time placed = track.last ? track.placed + step_ : 0;
  moved_ = time - placed;
  return placed;
}

FragmentTimes::Time FragmentTimes::place_beside(const Track& track, Time time) const {
  const Time moved = moved_ * track.scale / tracks_.front().scale;
  return std::max(time - moved, track.last ? track.placed + 1 : 0);
}

}  // namespace campipe
