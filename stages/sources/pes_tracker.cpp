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

// ISO/IEC 13818-1, 2.4.3.7: 33 bits among five bytes.
std::int64_t read_time(const std::uint8_t* bytes) {
  return static_cast<std::int64_t>(bytes[0] & 0x0eU) << 29U | static_cast<std::int64_t>(bytes[1]) << 22U |
         static_cast<std::int64_t>(bytes[2] & 0xfeU) << 14U | static_cast<std::int64_t>(bytes[3]) << 7U |
         bytes[4] >> 1U;
}

}  // namespace

std::optional<DatedUnit> content_of(const Pes& pes) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t at = 0; at + ts_packet_size <= pes.packets.size(); at += ts_packet_size) {
    const auto packet = std::span(pes.packets).subspan(at).first<ts_packet_size>();
    const auto head = read_ts_head(packet);
    if (!head) return std::nullopt;
    bytes.insert(bytes.end(), packet.begin() + static_cast<std::ptrdiff_t>(std::min(head->payload, ts_packet_size)),
                 packet.end());
  }
  constexpr std::size_t fixed = 9;
  constexpr std::size_t time = 5;
  if (bytes.size() < fixed + time || (bytes[7] & 0x80U) == 0) return std::nullopt;
  const std::size_t before = fixed + bytes[8];
  const bool has_dts = (bytes[7] & 0x40U) != 0 && before >= fixed + 2 * time;
  if (bytes.size() < before || before < fixed + time) return std::nullopt;
  DatedUnit unit;
  unit.pts = read_time(&bytes[fixed]);
  unit.dts = has_dts ? read_time(&bytes[fixed + time]) : unit.pts;
  unit.data.assign(bytes.begin() + static_cast<std::ptrdiff_t>(before), bytes.end());
  return unit;
}

bool PesTracker::end() {
  if (seen_.empty() || seen_.back().size == 0) return false;
  seen_.back().ended = true;
  return true;
}

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
