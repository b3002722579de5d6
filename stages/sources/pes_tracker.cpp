#include "stages/sources/pes_tracker.h"

#include <algorithm>

#include "core/big_endian.h"

namespace campipe {
namespace {

// What is larger comes from libavformat in parts.
constexpr std::size_t largest = std::size_t{2} << 20;
constexpr std::size_t most_seen = 16;

bool is_head_of_media(std::span<const std::uint8_t, 9> head) {
  const bool starts = head[0] == 0 && head[1] == 0 && head[2] == 1;
  const bool video = (head[3] & 0xf0U) == 0xe0 || head[3] == 0xbd || head[3] == 0xfd;
  return starts && video;
}

}  // namespace

void PesTracker::restart() {
  seen_.clear();
  counter_.reset();
  bytes_ = 0;
  lost_ = false;
}

PesTracker::Step PesTracker::add(TsPacket packet, const TsHead& head, std::int64_t position) {
  if (head.payload >= packet.size()) return Step::none;
  const bool missing = counter_ && !head.discontinuous && head.counter != (*counter_ + 1) % 16;
  counter_ = head.counter;
  const bool goes_on = !head.begins;
  if (!seen_.empty() && missing) {
    lost_ = seen_.back().ended;
    seen_.back().damaged = seen_.back().damaged || !lost_;
  }
  if (head.begins) begin(position);
  if (seen_.empty() || lost_) return Step::none;
  Pes& pes = seen_.back();
  pes.damaged = pes.damaged || head.damaged || pes.packets.size() > largest;
  if (pes.packets.size() <= largest) pes.packets.insert(pes.packets.end(), packet.begin(), packet.end());
  take(packet.subspan(head.payload));
  if (goes_on && pes.ended) {
    pes.ended = false;
    pes.unclear = true;
    return Step::went_on;
  }
  pes.ended = !pes.unclear && is_complete(head.stuffed);
  return pes.ended ? Step::ended : Step::none;
}

void PesTracker::begin(std::int64_t position) {
  if (seen_.size() == most_seen) seen_.pop_front();
  seen_.emplace_back().position = position;
  bytes_ = 0;
  lost_ = false;
}

void PesTracker::take(std::span<const std::uint8_t> payload) {
  if (bytes_ < head_.size()) {
    const auto part = payload.first(std::min(payload.size(), head_.size() - bytes_));
    std::ranges::copy(part, head_.begin() + static_cast<std::ptrdiff_t>(bytes_));
  }
  bytes_ += payload.size();
  if (bytes_ < head_.size()) return;
  Pes& pes = seen_.back();
  const std::size_t before = head_.size() + head_[8];
  pes.size = bytes_ - std::min(before, bytes_);
  pes.dated = (head_[7] & 0x80U) != 0;
  pes.damaged = pes.damaged || !is_head_of_media(head_);
}

// `stuffed`: its newest packet.
bool PesTracker::is_complete(bool stuffed) const {
  if (seen_.back().size == 0) return false;
  const std::size_t length = get_big_endian(&head_[4], 2);
  return length > 0 ? bytes_ >= 6 + length : stuffed;
}

}  // namespace campipe
