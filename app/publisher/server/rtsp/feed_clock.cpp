#include "app/publisher/server/rtsp/feed_clock.h"

#include <algorithm>
#include <cstdlib>

#include "core/clock.h"
#include "core/nanoseconds.h"

namespace campipe {
namespace {

constexpr std::int64_t clock_jump = ns_per_s / 5;  // from which on capture time is not smoothed
constexpr std::int64_t longest_pause = 3600 * ns_per_s;
constexpr GstClockTimeDiff exact_enough = ns_per_s / 100'000;
constexpr guint64 report_interval = ns_per_s;  // or less often where the bandwidth is too small for it (RFC 3550, 6.2)

void set_base(GstElement* element, GstClockTime base) {
  const GstClockTimeDiff off = GST_CLOCK_DIFF(gst_element_get_base_time(element), base);
  if (std::abs(off) > exact_enough) gst_element_set_base_time(element, base);
}

}  // namespace

void RtspTimeline::begin(const LivePiece& piece) {
  std::int64_t begins = lead;
  if (last_capture_ != 0) {
    const std::int64_t pause = std::clamp(piece.times.capture_utc - last_capture_, ns_per_s / 100, longest_pause);
    begins = time_of(last_dts_) + pause;
  }
  origin_ = piece.dts - begins;
}

void RtspTimeline::advance(const LivePiece& piece) {
  last_dts_ = piece.dts;
  last_capture_ = piece.times.capture_utc;
}

void RtspReportClock::use(GstElement* pipeline, GstElement* rtpbin, bool with_audio) {
  pipeline_ = share(pipeline);
  rtpbin_ = share(rtpbin);
  with_audio_ = with_audio;
  // Else reports are late by the latency that the elements announce, which nothing waits for, since the sinks do not;
  // and the time that packets say is overwritten by that of the reports, which may be that of another frame.
  g_object_set(rtpbin, "rtcp-sync-send-time", FALSE, "update-ntp64-header-ext", FALSE, nullptr);
}

GstElement* RtspReportClock::session_of(unsigned stream) {
  auto& session = sessions_.at(stream);
  if (session) return session.get();
  GstElement* found = nullptr;
  g_signal_emit_by_name(rtpbin_.get(), "get-session", stream, &found);
  if (found == nullptr) return nullptr;
  session.reset(found);
  GObject* internal = nullptr;
  g_object_get(found, "internal-session", &internal, nullptr);
  const GObjectPtr<GObject> owner(internal);
  if (internal != nullptr) g_object_set(internal, "rtcp-min-interval", report_interval, nullptr);
  return found;
}

std::optional<std::int64_t> RtspReportClock::utc_of(std::int64_t time) const {
  return epoch_ ? std::optional(*epoch_ + time) : std::nullopt;
}

// Reports give which RTP time it is at a time of the clock, by the time since their element's base time. So that is
// when, by the clock by which frames are taken, a time of 0 was. Elements get it from those that they are in whenever
// these change their state, and the pipeline has none of its own (create_pipeline()).
void RtspReportClock::update(const LivePiece& piece, std::int64_t time) {
  const std::int64_t taken = piece.times.capture_utc > 0 ? piece.times.capture_utc : utc_now_ns();
  const std::int64_t epoch = taken - time;
  if (!epoch_) epoch_ = epoch;
  const std::int64_t error = epoch - *epoch_;
  const bool is_exact = piece.times.capture_clock == CaptureClock::camera;
  epoch_ = is_exact || std::abs(error) > clock_jump ? epoch : *epoch_ + error / 16;
  const auto base = static_cast<GstClockTime>(*epoch_);
  set_base(pipeline_.get(), base);
  set_base(rtpbin_.get(), base);
  for (guint i = 0; i < (with_audio_ ? 2 : 1); ++i) {
    if (GstElement* session = session_of(i)) set_base(session, base);
  }
}

}  // namespace campipe
