#include "app/publisher/server/rtsp/feed_clock.h"

#include <algorithm>
#include <cstdlib>

namespace campipe {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t clock_jump = second / 5;  // from which on capture time is not smoothed
constexpr std::int64_t longest_pause = 3600 * second;

}  // namespace

void RtspTimeline::begin(const LivePiece& piece) {
  std::int64_t begins = lead;
  if (last_capture_ != 0) {
    const std::int64_t pause = std::clamp(piece.times.capture_utc - last_capture_, second / 100, longest_pause);
    begins = time_of(last_dts_) + pause;
  }
  origin_ = piece.dts - begins;
}

void RtspTimeline::advance(const LivePiece& piece) {
  last_dts_ = piece.dts;
  last_capture_ = piece.times.capture_utc;
}

void RtspReportClock::use(GstElement* rtpbin, bool with_audio) {
  rtpbin_ = share(rtpbin);
  with_audio_ = with_audio;
}

// Reports give which RTP time it is at a time of the clock, by the time since their element's base time. So that is
// when, by the clock by which frames are taken, a time of 0 was. The pipeline sets it, too, when it starts.
void RtspReportClock::update(const LivePiece& piece, std::int64_t time) {
  if (piece.times.capture_utc == 0) return;
  const std::int64_t epoch = piece.times.capture_utc - time;
  const std::int64_t error = epoch - epoch_.value_or(epoch);
  epoch_ = !epoch_ || std::abs(error) > clock_jump ? epoch : *epoch_ + error / 16;
  const auto base = static_cast<GstClockTime>(*epoch_);
  for (guint i = 0; i < (with_audio_ ? 2 : 1); ++i) {
    auto& session = sessions_.at(i);
    if (!session) {
      GstElement* found = nullptr;
      g_signal_emit_by_name(rtpbin_.get(), "get-session", i, &found);
      session.reset(found);
    }
    if (session && gst_element_get_base_time(session.get()) != base) gst_element_set_base_time(session.get(), base);
  }
}

}  // namespace campipe
