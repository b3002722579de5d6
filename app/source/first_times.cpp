#include "app/source/first_times.h"

#include <algorithm>
#include <optional>

extern "C" {
#include <libavutil/common.h>
}

namespace campipe {

void date_first_packets(std::span<AVPacket* const> first, const AVPacket& next, std::int64_t frame) {
  if (first.empty()) return;
  AVPacket& very_first = *first.front();
  const bool in_order = very_first.dts != AV_NOPTS_VALUE && very_first.dts < next.dts;
  if (in_order && first.size() == 1) return;
  if (!in_order && very_first.dts != AV_NOPTS_VALUE) very_first.pts = AV_NOPTS_VALUE;
  std::int64_t decoded = next.dts;
  std::optional<std::int64_t> earliest;
  const auto note = [&](std::int64_t shown) { earliest = std::min(earliest.value_or(shown), shown); };
  if (next.pts != AV_NOPTS_VALUE) note(next.pts);
  for (std::size_t left = first.size(); left > 0; --left) {
    AVPacket& packet = *first[left - 1];
    decoded = av_sat_sub64(decoded, frame);
    packet.dts = decoded;
    if (packet.pts == AV_NOPTS_VALUE) packet.pts = earliest ? av_sat_sub64(*earliest, frame) : decoded;
    packet.pts = std::max(packet.pts, packet.dts);
    note(packet.pts);
  }
}

}  // namespace campipe
