// The thread that brings a camera's packets into one RTSP media, and reports when they were taken: RTP time is the
// packets' own, and what RTCP sender reports carry is capture time (rtsp/feed_clock.h).
//
// The media must have a first key frame before it can be described, which is older than who then plays it. What was
// made before a reader came is kept from it, so that players, which keep their distance from the first frame that
// they get, do not stay behind by the length of a GOP.
//
// Audio is a second stream of the media, with the same origin of its time and the same clock in its reports. What the
// media is made for stays: it ends where the camera's audio comes, goes or changes, and readers come again.
#pragma once

#include <gst/app/gstappsrc.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <thread>

#include "app/config/server_config.h"
#include "app/publisher/server/live/stream.h"
#include "app/publisher/server/rtsp/feed_clock.h"
#include "app/publisher/server/rtsp/gst_handles.h"
#include "app/publisher/server/rtsp/readers.h"

namespace campipe {

// What of a stream with that key frame RTSP cannot carry; empty: it carries it.
std::string without_rtsp_form(const LivePiece& key_frame);
// The description of a pipeline from an appsrc called "source" to a payloader called "pay0", for a stream that RTSP
// carries; with audio, which has an RTSP form (publisher/server/rtsp/audio.h), also from "audio" to "pay1".
std::string rtsp_pipeline(const StreamParameters& stream, const std::optional<AudioParameters>& audio);

class RtspFeed {
 public:
  // On the feeding thread. `on_end`: the media cannot go on: the camera was removed, or has another codec or other
  // audio. `on_unfit`: of a stream with this header nothing came out as RTP in time, so that the media fails.
  RtspFeed(std::shared_ptr<LiveStream> stream, std::shared_ptr<RtspReaders> readers, std::function<void()> on_end,
           std::function<void(const std::shared_ptr<const LiveHeader>&)> on_unfit);
  ~RtspFeed() { stop(); }
  RtspFeed(const RtspFeed&) = delete;
  RtspFeed& operator=(const RtspFeed&) = delete;

  // What a media is made of. `bin`: what rtsp_pipeline() describes; `rtpbin`: what sends the reports; both come into
  // `pipeline`. `timestamps`: what add_timestamps() has prepared `bin` for.
  struct Parts {
    GstElement* pipeline;
    GstBin* bin;
    GstElement* rtpbin;
    RtspTimestamps timestamps;
  };
  // Once. `audio`: as it was asked.
  void start(const Parts& parts, std::optional<AudioParameters> audio);
  void stop();

 private:
  // Nothing older comes to readers.
  struct Gate {
    static constexpr GstClockTime closed = std::numeric_limits<GstClockTime>::max();
    std::atomic<GstClockTime> open_from{closed};
  };
  using SharedGate = std::shared_ptr<Gate>;
  struct Audio {
    std::optional<AudioParameters> stream;  // that the media is made for
    GObjectPtr<GstAppSrc> source;           // null: without
    std::int64_t last_time = 0;             // that was sent, of the media
  };

  static void close_with(GstPad* pad, const SharedGate& gate);
  void look_behind_payloader(GstBin* bin) const;
  [[nodiscard]] bool is_unfit() const;
  void run(const std::stop_token& stopping);
  bool feed(const LivePiece& piece);
  void feed_audio(const LivePiece& piece);
  void prepare_audio();
  bool begin(const LivePiece& piece);
  bool take_stream(const LivePiece& piece);
  GstClockTime time_of(std::int64_t time) const { return static_cast<GstClockTime>(timeline_.time_of(time)); }
  void begin_time(const LivePiece& piece);
  void keep_time(const LivePiece& piece);
  void push(const LivePiece& piece);
  void put_times(GstBuffer* buffer, GstClockTime shown, GstClockTime decoded) const;
  void push_audio(const SharedBytes& bytes, GstClockTime time, std::int64_t duration);

  std::shared_ptr<LiveStream> stream_;
  std::shared_ptr<RtspReaders> readers_;
  std::function<void()> on_end_;
  std::function<void(const std::shared_ptr<const LiveHeader>&)> on_unfit_;
  std::shared_ptr<LiveViewer> viewer_;
  SharedGate gate_ = std::make_shared<Gate>();
  GObjectPtr<GstAppSrc> source_;
  Audio audio_;

  std::shared_ptr<const LiveHeader> header_;  // of the newest piece
  int unfit_ = 0;                             // frames in a row that RTP cannot carry
  bool with_header_ = false;                  // the next key frame needs the stream's parameters before it
  bool prepared_ = false;                     // the media has its first key frame,
  Clock::time_point prepared_at_;
  std::shared_ptr<std::atomic<bool>> came_out_ =
      std::make_shared<std::atomic<bool>>(false);  // of which this became RTP
  bool running_ = false;                           // there is a reader that plays, and pieces are passed on
  RtspTimeline timeline_;
  RtspReportClock clock_;
  bool stamps_ = false;  // buffers say when they were taken
  std::jthread thread_;
};

}  // namespace campipe
