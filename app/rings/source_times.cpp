#include "app/rings/source_times.h"

#include <algorithm>

#include "core/ffmpeg.h"

extern "C" {
#include <libavutil/common.h>
}

namespace campipe {
namespace {

constexpr std::int64_t latest = std::int64_t{1} << 61;  // ns; the sum of two of them fits
constexpr std::int64_t longest_of_live = std::int64_t{10} * 1'000'000'000;
constexpr std::int64_t least_kept_back = 1'000'000'000;
constexpr std::int64_t longest_of_file = std::int64_t{24} * 3600 * 1'000'000'000;

}  // namespace

std::int64_t source_ns(const SourceStream& stream, std::int64_t timestamp) {
  const std::int64_t time = av_rescale_q(av_sat_sub64(timestamp, stream.start), stream.time_base, nanoseconds);
  return std::clamp(time, -latest, latest);
}

std::int64_t audio_ns(const SourceStream& stream, std::int64_t timestamp) {
  const std::int64_t start = av_rescale_q(stream.start, stream.time_base, nanoseconds);
  const std::int64_t time = av_rescale_q(timestamp, stream.audio_time_base, nanoseconds);
  return std::clamp(av_sat_sub64(time, start), -latest, latest);
}

std::optional<std::int64_t> decode_time(const SourceStream& stream, const AVPacket& packet) {
  if (packet.dts != AV_NOPTS_VALUE) return source_ns(stream, packet.dts);
  if (packet.pts != AV_NOPTS_VALUE) return source_ns(stream, packet.pts);
  return std::nullopt;
}

std::int64_t usual_duration(const SourceStream& stream) {
  return stream.frame_rate > 0 ? static_cast<std::int64_t>(1e9 / stream.frame_rate) : 0;
}

void forget_absurd_times(AVPacket& packet, AVRational time_base, bool live, std::int64_t frame) {
  const std::int64_t longest = live ? longest_of_live : longest_of_file;
  const std::int64_t duration = av_rescale_q(packet.duration, time_base, nanoseconds);
  if (duration < 0 || duration > longest) packet.duration = 0;
  if (packet.pts == AV_NOPTS_VALUE || packet.dts == AV_NOPTS_VALUE) return;
  const std::int64_t shown_later = av_rescale_q(av_sat_sub64(packet.pts, packet.dts), time_base, nanoseconds);
  const std::int64_t kept_back =
      live && frame > 0 ? std::clamp((most_kept_back + 1) * std::min(frame, longest), least_kept_back, longest)
                        : longest;
  if (shown_later < -longest || shown_later > kept_back) packet.pts = packet.dts;
}

}  // namespace campipe
