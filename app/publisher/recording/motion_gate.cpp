#include "app/publisher/recording/motion_gate.h"

#include <algorithm>

#include "core/metadata_types.h"

namespace campipe {
namespace {

// A bit rate that no camera has, or a GOP without end, shall not fill the memory; then less than `before`
// is kept, or nothing before the next key frame.
constexpr std::size_t most_held_bytes = std::size_t{128} << 20;

}  // namespace

MotionGate::Does MotionGate::take(const PacketView& packet, std::uint64_t number) {
  const auto motion = packet.metadata.get<MotionScore>();
  const bool moves = motion && motion->moving > 0;
  keep(packet, number);
  if (moves) {
    last_motion_ = packet.times.pts;
    highest_ = moving_ ? std::max(highest_, motion->moving) : motion->moving;
  }
  if (!moving_) {
    moving_ = moves && !kept_.empty();
    return moving_ ? Does::begin : Does::nothing;
  }
  if (packet.times.pts - last_motion_ < after_.count()) return Does::go_on;
  moving_ = false;
  return Does::end;
}

// Whole GOPs go, as soon as the next one is old enough to begin with.
void MotionGate::keep(const PacketView& packet, std::uint64_t number) {
  if (packet.key) keys_.push_back(dropped_ + kept_.size());
  if (keys_.empty()) return;
  kept_.emplace_back(packet, number);
  bytes_ += kept_.back().size();
  const std::int64_t newest_start = packet.times.pts - (moving_ ? 0 : before_.count());
  while (keys_.size() > 1 && (kept_[keys_[1] - dropped_].pts() <= newest_start || bytes_ > most_held_bytes)) {
    for (; dropped_ < keys_[1]; ++dropped_) {
      bytes_ -= kept_.front().size();
      kept_.pop_front();
    }
    keys_.pop_front();
  }
  if (bytes_ > most_held_bytes) forget();
}

void MotionGate::resume(std::int64_t last_motion, float highest) {
  moving_ = true;
  last_motion_ = last_motion;
  highest_ = highest;
}

void MotionGate::forget() {
  kept_.clear();
  keys_.clear();
  dropped_ = 0;
  bytes_ = 0;
}

}  // namespace campipe
