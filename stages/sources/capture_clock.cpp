#include "stages/sources/capture_clock.h"

#include <cstdlib>

#include "stages/sources/source.h"

namespace campipe {
namespace {

constexpr AVRational microseconds{1, 1'000'000};
constexpr std::int64_t rtp_period = std::int64_t{1} << 32;
constexpr std::int64_t tolerance = 10'000'000;  // microseconds; far more than a clock that is set jumps by

AVProducerReferenceTime* reference_of(const AVPacket& packet) {
  std::size_t size = 0;
  std::uint8_t* data = av_packet_get_side_data(&packet, AV_PKT_DATA_PRFT, &size);
  if (data == nullptr || size < sizeof(AVProducerReferenceTime)) return nullptr;
  return static_cast<AVProducerReferenceTime*>(static_cast<void*>(data));
}

}  // namespace

void CaptureClock::mend(AVPacket& packet, AVRational time_base) {
  AVProducerReferenceTime* reference = reference_of(packet);
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (reference == nullptr || time == AV_NOPTS_VALUE) return;
  if (last_) {
    const std::int64_t expected = last_->utc + av_rescale_q(time - last_->time, time_base, microseconds);
    const std::int64_t period = av_rescale_q(rtp_period, time_base, microseconds);
    const std::int64_t off = reference->wallclock - expected;
    if (std::llabs(off + period) < tolerance) reference->wallclock += period;
    if (std::llabs(off - period) < tolerance) reference->wallclock -= period;
  }
  last_ = {reference->wallclock, time};
}

std::optional<std::int64_t> capture_time(const AVPacket& packet) {
  const AVProducerReferenceTime* reference = reference_of(packet);
  // A camera without a clock counts from 1900, before all UTC.
  if (reference == nullptr || reference->wallclock <= 0) return std::nullopt;
  return reference->wallclock * 1000;
}

}  // namespace campipe
