#include "stages/sources/ts_framing.h"

#include <algorithm>

namespace campipe {
namespace {

// RTP's head, in streams that are sent as `udp` with it.
constexpr std::uint8_t rtp_version = 0x80;
constexpr std::size_t rtp_head = 12;

}  // namespace

void TsFraming::add(std::span<const std::uint8_t> bytes) {
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(at_));
  at_ = 0;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

std::optional<TsPacket> TsFraming::next() {
  while (bytes_.size() - at_ >= ts_packet_size) {
    const std::span rest = std::span(bytes_).subspan(at_);
    if (!lost_ && rest[0] == ts_sync) {
      at_ += ts_packet_size;
      left_out_ -= std::min(left_out_, ts_packet_size);
      return rest.first<ts_packet_size>();
    }
    if (!lost_ && rest[0] == rtp_version && rest[rtp_head] == ts_sync) {
      at_ += rtp_head;
    } else if (!find_next()) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// Leaves out what is before it.
bool TsFraming::find_next() {
  for (; at_ + ts_packet_size < bytes_.size(); ++at_, ++left_out_) {
    lost_ = bytes_[at_] != ts_sync || bytes_[at_ + ts_packet_size] != ts_sync;
    if (!lost_) return true;
  }
  lost_ = true;
  return false;
}

}  // namespace campipe
