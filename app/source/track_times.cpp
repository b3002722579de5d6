#include "app/source/track_times.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "app/rings/source_times.h"
#include "core/log.h"
#include "stages/sources/capture_clock.h"

extern "C" {
#include <libavutil/common.h>
}

namespace campipe {
namespace {

constexpr double far_off = 0.05;

std::int64_t in_units(std::int64_t ns, const SourceStream& stream, bool audio) {
  if (!audio) return av_sat_add64(av_rescale_q(ns, nanoseconds, stream.time_base), stream.start);
  return av_rescale_q(av_sat_add64(ns, av_rescale_q(stream.start, stream.time_base, nanoseconds)), nanoseconds,
                      stream.audio_time_base);
}

}  // namespace

TrackTimes::TrackTimes(std::string name, bool by_arrival)
    : name_(std::move(name)), by_arrival_(by_arrival), video_(by_arrival), audio_(by_arrival) {}

void TrackTimes::restart() {
  video_ = Track(by_arrival_);
  audio_ = Track(by_arrival_);
  arrival_at_.reset();
}

void TrackTimes::correct(AVPacket& packet, ReadResult kind, const SourceStream& stream, const ReadAhead::Times& times) {
  const bool audio = kind == ReadResult::audio;
  if (!audio && kind != ReadResult::packet) return;
  const std::int64_t time = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
  if (time == AV_NOPTS_VALUE) return;
  const auto ns = [&](std::int64_t units) { return audio ? audio_ns(stream, units) : source_ns(stream, units); };
  Track& track = audio ? audio_ : video_;
  TrackClock& clock = track.clock;
  // Both tracks lie as they arrive, whatever their timestamps begin with.
  if (by_arrival_ && !arrival_at_) {
    arrival_at_ = ns(time) - times.arrival;
    video_.clock.place_arrivals(*arrival_at_);
    audio_.clock.place_arrivals(*arrival_at_);
  }
  if (clock.observe({ns(time), times.arrival, times.waited})) {
    if (std::abs(clock.rate() - 1) > far_off || clock.trust() == TrackClock::Trust::none) ++realigned_;
    log(track, audio ? "the clock of its sound" : "its clock");
  }
  if (clock.leaves_all()) return;
  const bool said = !audio && stream.codec != nullptr && stream.codec->video_delay > 0;
  const bool seen = packet.pts != AV_NOPTS_VALUE && packet.dts != AV_NOPTS_VALUE && packet.pts != packet.dts;
  track.reorders = track.reorders || said || (!audio && seen);
  const std::int64_t at = in_units(clock.map(ns(time)), stream, audio);
  if (packet.pts != AV_NOPTS_VALUE)
    packet.pts = !track.reorders ? at : in_units(clock.map_shown(ns(packet.pts)), stream, audio);
  if (packet.dts != AV_NOPTS_VALUE) packet.dts = at;
  if (clock.trust() == TrackClock::Trust::right) return;
  set_wall_clock(packet, std::nullopt);
  if (!audio) packet.duration = av_rescale_q(clock.usual_step(), nanoseconds, stream.time_base);
}

void TrackTimes::log(Track& track, const std::string& what) const {
  const TrackClock& clock = track.clock;
  std::string line;
  if (clock.trust() == TrackClock::Trust::right) {
    line = "is right again";
    if (track.logged.insert(line).second) spdlog::info("{}: {} {}", name_, what, line);
    return;
  }
  if (clock.trust() == TrackClock::Trust::rate) {
    if (track.logged.insert("rate").second)
      spdlog::warn("{}: {} runs at {:.3f} of the rate that it says; its timestamps are corrected by that", name_, what,
                   clock.rate());
    return;
  }
  const std::string why = clock.why() == TrackClock::Why::jumps ? "jumps again and again"
                          : clock.rate() < 0.001                ? "stands still"
                                                 : fmt::format("runs at {:.3f} of the rate that it says", clock.rate());
  if (track.logged.insert("none").second)
    spdlog::warn("{}: {} {}; times are those of arrival until it is right ('timestamps: arrival' sets that for good)",
                 name_, what, why);
}

}  // namespace campipe
