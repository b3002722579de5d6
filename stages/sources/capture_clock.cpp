#include "stages/sources/capture_clock.h"

#include <cmath>
#include <new>

#include "core/clock.h"
#include "stages/sources/source.h"

namespace campipe {
namespace {

constexpr std::int64_t rtp_period = std::int64_t{1} << 32;
constexpr double tolerance = 10'000'000;  // microseconds; far more than a clock that is set jumps by

AVProducerReferenceTime* reference_of(const AVPacket& packet) {
  std::size_t size = 0;
  std::uint8_t* data = av_packet_get_side_data(&packet, AV_PKT_DATA_PRFT, &size);
  if (data == nullptr || size < sizeof(AVProducerReferenceTime)) return nullptr;
  return static_cast<AVProducerReferenceTime*>(static_cast<void*>(data));
}

}  // namespace

// A camera without a clock counts from 1900, before all UTC.
std::optional<std::int64_t> wall_clock(const AVPacket& packet) {
  const AVProducerReferenceTime* reference = reference_of(packet);
  if (reference == nullptr || reference->wallclock <= 0) return std::nullopt;
  return reference->wallclock;
}

void set_wall_clock(AVPacket& packet, std::optional<std::int64_t> utc) {
  AVProducerReferenceTime* reference = reference_of(packet);
  if (reference == nullptr && !utc) return;
  if (reference == nullptr) {
    reference = static_cast<AVProducerReferenceTime*>(
        static_cast<void*>(av_packet_new_side_data(&packet, AV_PKT_DATA_PRFT, sizeof(AVProducerReferenceTime))));
    if (reference == nullptr) throw std::bad_alloc();
    reference->flags = 0;
  }
  reference->wallclock = utc.value_or(0);
}

void RtpCaptureClock::mend(AVPacket& packet, AVRational time_base) {
  AVProducerReferenceTime* reference = reference_of(packet);
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (reference == nullptr || time == AV_NOPTS_VALUE) return;
  const std::int64_t period = av_rescale_q(rtp_period, time_base, av_get_time_base_q());
  if (!last_) {
    const double off = static_cast<double>(reference->wallclock) - static_cast<double>(utc_now_ns()) / 1000;
    if (std::abs(off + static_cast<double>(period)) < tolerance) reference->wallclock += period;
  } else {
    // As doubles, which no time stamp makes overflow.
    const double passed = (static_cast<double>(time) - static_cast<double>(last_->time)) * av_q2d(time_base) * 1e6;
    const double off = static_cast<double>(reference->wallclock) - static_cast<double>(last_->utc) - passed;
    if (std::abs(off + static_cast<double>(period)) < tolerance) reference->wallclock += period;
    if (std::abs(off - static_cast<double>(period)) < tolerance) reference->wallclock -= period;
  }
  last_ = {reference->wallclock, time};
}

std::optional<std::int64_t> capture_time(const AVPacket& packet) {
  const auto utc = wall_clock(packet);
  return utc ? std::optional(*utc * 1000) : std::nullopt;
}

}  // namespace campipe
