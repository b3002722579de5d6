#include "app/publisher/recording/motion_gate.h"

#include "core/metadata_types.h"

namespace campipe {
namespace {

// A bit rate that no camera has, or a GOP without end, shall not fill the memory; then less than `before`
// is kept, or nothing before the next key frame.
constexpr std::size_t most_held_bytes = std::size_t{128} << 20;

}  // namespace

MotionGate::Does MotionGate::take(const PacketView& packet, std::uint64_t number) {
  const auto motion = packet.metadata.get<MotionScore>();
  keep(packet, number);
  if (!moving() && kept_.empty()) return Does::nothing;  // it could not be decoded
  return span_.take(motion && motion->moving > 0, packet.times.pts);
}

// Whole GOPs go, as soon as the next one is old enough to begin with.
void MotionGate::keep(const PacketView& packet, std::uint64_t number) {
  if (packet.key) keys_.push_back(dropped_ + kept_.size());
  if (keys_.empty()) return;
  kept_.emplace_back(packet, number);
  bytes_ += kept_.back().size();
  const std::int64_t newest_start = packet.times.pts - (moving() ? 0 : before_.count());
  while (keys_.size() > 1 && (kept_[keys_[1] - dropped_].pts() <= newest_start || bytes_ > most_held_bytes)) {
    for (; dropped_ < keys_[1]; ++dropped_) {
      bytes_ -= kept_.front().size();
      kept_.pop_front();
    }
    keys_.pop_front();
  }
  if (bytes_ > most_held_bytes) forget();
}

void MotionGate::forget() {
  kept_.clear();
  keys_.clear();
  dropped_ = 0;
  bytes_ = 0;
}

}  // namespace campipe
