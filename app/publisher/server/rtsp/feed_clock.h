// The times of one RTSP media: on which timeline a stream's packets are sent, and what RTCP sender reports carry of it.
// Both are for the thread that feeds the media.
#pragma once

#include <gst/gst.h>

#include <array>
#include <cstdint>
#include <optional>

#include "app/publisher/server/live/piece.h"
#include "app/publisher/server/rtsp/gst_handles.h"

namespace campipe {

// From a camera's times, which may begin anew at any time, to those of the media, which only grow.
class RtspTimeline {
 public:
  // The media's first time, so that none is negative where frames are not in the order of their packets; ns.
  static constexpr std::int64_t lead = 1'000'000'000;

  // The camera's time begins with this frame, or begins anew. It goes on for readers as it did for the camera.
  void begin(const LivePiece& piece);
  // The camera's time has begun anew: the frame is not after the one before.
  [[nodiscard]] bool is_over(const LivePiece& piece) const { return piece.dts <= last_dts_; }
  // This frame was sent.
  void advance(const LivePiece& piece);
  // Of a time of the camera, ns.
  [[nodiscard]] std::int64_t time_of(std::int64_t time) const { return time - origin_; }

 private:
  std::int64_t origin_ = 0;  // of the media, in the camera's time
  std::int64_t last_dts_ = 0;
  std::int64_t last_capture_ = 0;
};

// When a time of the media was, by the clock by which frames are taken: what sender reports carry, and what packets may
// say of themselves. Where the camera sends its time, that is taken as it is; when frames arrive jitters, and is
// smoothed. Audio has the same clock.
class RtspReportClock {
 public:
  // `rtpbin`: what sends the reports, of the frames and, if there is any, of audio. Before it has sessions, and before
  // it is in `pipeline`.
  void use(GstElement* pipeline, GstElement* rtpbin, bool with_audio);
  // The relation between both times is another one from now on.
  void begin() { epoch_.reset(); }
  // There is a frame with that time of the media, whether or not it is sent: a report may be sent at any time.
  void update(const LivePiece& piece, std::int64_t time);
  // When a time of the media was: UTC, ns. Nothing: it is not known.
  [[nodiscard]] std::optional<std::int64_t> utc_of(std::int64_t time) const;

 private:
  GstElement* session_of(unsigned stream);

  GObjectPtr<GstElement> pipeline_;
  GObjectPtr<GstElement> rtpbin_;
  bool with_audio_ = false;
  std::array<GObjectPtr<GstElement>, 2> sessions_;  // of rtpbin; null until it has them
  std::optional<std::int64_t> epoch_;               // capture time of a time of 0
};

}  // namespace campipe
