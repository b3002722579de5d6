#include "app/source/first_arrivals.h"

#include <algorithm>
#include <optional>

#include "app/rings/source_times.h"

namespace campipe {
namespace {

std::optional<std::int64_t> time_of(const ReadAhead::Entry& entry, const SourceStream& stream) {
  const AVPacket& packet = *entry.packet;
  const std::int64_t time = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
  if (time == AV_NOPTS_VALUE) return std::nullopt;
  return entry.result == ReadResult::audio ? audio_ns(stream, time) : source_ns(stream, time);
}

void spread(std::deque<ReadAhead::Entry>& read, ReadResult track, const SourceStream& stream, std::int64_t opened) {
  const ReadAhead::Entry* newest = nullptr;
  std::int64_t longest = 0;
  for (const ReadAhead::Entry& entry : read) {
    if (entry.result == track && time_of(entry, stream)) newest = &entry;
  }
  if (newest == nullptr) return;
  const std::int64_t last = *time_of(*newest, stream);
  const std::int64_t arrived = newest->times.arrival;
  const auto before = [&](const ReadAhead::Entry& entry) {
    return std::max<std::int64_t>(last - time_of(entry, stream).value_or(last), 0);
  };
  for (const ReadAhead::Entry& entry : read) {
    if (entry.result == track) longest = std::max(longest, before(entry));
  }
  const std::int64_t most = std::max<std::int64_t>(arrived - opened, 0);
  const double pressed = longest > most ? static_cast<double>(most) / static_cast<double>(longest) : 1;
  for (ReadAhead::Entry& entry : read) {
    if (entry.result != track || entry.times.by_source || !time_of(entry, stream)) continue;
    const auto by = static_cast<std::int64_t>(static_cast<double>(before(entry)) * pressed);
    const std::int64_t earlier = std::max<std::int64_t>(entry.times.arrival - (arrived - by), 0);
    entry.times.arrival -= earlier;
    entry.times.arrival_utc -= earlier;
  }
}

}  // namespace

void spread_first_arrivals(std::deque<ReadAhead::Entry>& read, const SourceStream& stream, std::int64_t opened) {
  spread(read, ReadResult::packet, stream, opened);
  spread(read, ReadResult::audio, stream, opened);
}

}  // namespace campipe
