#include "stages/sources/capture_clock.h"

#include <cmath>

#include "stages/sources/source.h"

namespace campipe {
namespace {

constexpr AVRational microseconds{1, 1'000'000};
constexpr std::int64_t rtp_period = std::int64_t{1} << 32;
constexpr double tolerance = 10'000'000;  // microseconds; far more than a clock that is set jumps by

AVProducerReferenceTime* reference_of(const AVPacket& packet) {
  std::size_t size = 0;
  std::uint8_t* data = av_packet_get_side_data(&packet, AV_PKT_DATA_PRFT, &size);
  if (data == nullptr || size < sizeof(AVProducerReferenceTime)) return nullptr;
  return static_cast<AVProducerReferenceTime*>(static_cast<void*>(data));
}

}  // namespace

void RtpCaptureClock::mend(AVPacket& packet, AVRational time_base) {
  AVProducerReferenceTime* reference = reference_of(packet);
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (reference == nullptr || time == AV_NOPTS_VALUE) return;
  if (last_) {
    // As doubles, which no time stamp makes overflow.
    const double passed = (static_cast<double>(time) - static_cast<double>(last_->time)) * av_q2d(time_base) * 1e6;
    const double off = static_cast<double>(reference->wallclock) - static_cast<double>(last_->utc) - passed;
    const std::int64_t period = av_rescale_q(rtp_period, time_base, microseconds);
    if (std::abs(off + static_cast<double>(period)) < tolerance) reference->wallclock += period;
    if (std::abs(off - static_cast<double>(period)) < tolerance) reference->wallclock -= period;
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
