#include "app/publisher/server/rtsp/timestamps.h"

#include <gst/rtp/rtp.h>

#include "app/publisher/server/rtsp/gst_handles.h"
#include "core/ntp_time.h"

namespace campipe {
namespace {

constexpr GstClockTime ntp_of_1970 = ntp_seconds_until_1970 * GST_SECOND;

}  // namespace

void add_timestamps(GstBin* bin, RtspTimestamps timestamps) {
  if (timestamps == RtspTimestamps::off) return;
  for (const char* name : {"pay0", "pay1"}) {
    const GObjectPtr<GstElement> payloader(gst_bin_get_by_name(bin, name));
    if (!payloader) continue;
    GstElement* made = gst_element_factory_make("rtphdrextntp64", nullptr);
    if (made == nullptr) return;  // missing_rtsp_elements() has named it
    const GObjectPtr<GstElement> extension(GST_ELEMENT(gst_object_ref_sink(made)));
    gst_rtp_header_extension_set_id(GST_RTP_HEADER_EXTENSION(made), 1);
    g_signal_emit_by_name(payloader.get(), "add-extension", made);
  }
}

void stamp(GstBuffer* buffer, std::int64_t taken_utc) {
  static const GstCapsPtr ntp(gst_caps_new_empty_simple("timestamp/x-ntp"));
  gst_buffer_add_reference_timestamp_meta(buffer, ntp.get(), static_cast<GstClockTime>(taken_utc) + ntp_of_1970,
                                          GST_CLOCK_TIME_NONE);
}

}  // namespace campipe
