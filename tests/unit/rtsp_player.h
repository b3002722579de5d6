// A player of RTSP for tests, by GStreamer's rtspsrc: what it got, and when that was taken by the sender's clock.
#pragma once

#include <gst/app/gstappsink.h>
#include <gst/gst.h>

#include <optional>
#include <string>

#include "app/publisher/server/rtsp/gst_handles.h"
#include "core/clock.h"
#include "core/error.h"

namespace campipe::test {

// When that was taken by the sender's clock; nothing: no report has told it yet.
inline std::optional<std::int64_t> taken_utc_of(GstBuffer* buffer) {
  constexpr std::int64_t since_1900 = 2'208'988'800'000'000'000;
  const GstCapsPtr ntp(gst_caps_new_empty_simple("timestamp/x-ntp"));
  const auto* meta = gst_buffer_get_reference_timestamp_meta(buffer, ntp.get());
  if (meta == nullptr) return std::nullopt;
  return static_cast<std::int64_t>(meta->timestamp) - since_1900;
}

class RtspPlayer {
 public:
  struct Picture {
    std::string data;  // Annex B
    bool key = false;
    std::optional<std::int64_t> taken_utc;  // ns, by sender reports, once one came
    int width = 0;
  };

  RtspPlayer(const std::string& url, const std::string& transport, const std::string& codec = "h264") {
    gst_init(nullptr, nullptr);
    const std::string text = "rtspsrc location=" + url + " protocols=" + transport +
                             " latency=20 tls-validation-flags=0 add-reference-timestamp-meta=true ! rtp" + codec +
                             "depay ! " + codec + "parse config-interval=-1 ! video/x-" + codec +
                             ",stream-format=byte-stream,alignment=au ! appsink name=sink sync=false";
    GError* error = nullptr;
    pipeline_.reset(gst_parse_launch(text.c_str(), &error));
    if (error != nullptr) {
      const GErrorPtr owner(error);
      throw Error(error->message);
    }
    sink_.reset(GST_APP_SINK(gst_bin_get_by_name(GST_BIN(pipeline_.get()), "sink")));
    gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
  }
  ~RtspPlayer() { gst_element_set_state(pipeline_.get(), GST_STATE_NULL); }
  RtspPlayer(const RtspPlayer&) = delete;
  RtspPlayer& operator=(const RtspPlayer&) = delete;

  // Nothing: none came, or it is at an end.
  std::optional<Picture> next(std::chrono::nanoseconds timeout) {
    GstSample* sample = gst_app_sink_try_pull_sample(sink_.get(), static_cast<GstClockTime>(timeout.count()));
    if (sample == nullptr) return std::nullopt;
    Picture picture;
    GstBuffer* buffer = gst_sample_get_buffer(sample);
    picture.data.resize(gst_buffer_get_size(buffer));
    gst_buffer_extract(buffer, 0, picture.data.data(), picture.data.size());
    picture.key = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
    gst_structure_get_int(gst_caps_get_structure(gst_sample_get_caps(sample), 0), "width", &picture.width);
    picture.taken_utc = taken_utc_of(buffer);
    gst_sample_unref(sample);
    return picture;
  }

 private:
  GObjectPtr<GstElement> pipeline_;
  GObjectPtr<GstAppSink> sink_;
};

}  // namespace campipe::test
