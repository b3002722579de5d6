#include "app/publisher/server/rtsp/reports.h"

#include <gst/net/gstnetaddressmeta.h>

#include <string_view>
#include <utility>

#include "core/c_callback.h"

namespace campipe {
namespace {

using SharedReaders = std::shared_ptr<RtspReaders>;

void keep_alive(RtspReaders& readers, GstBuffer* report) {
  const GstNetAddressMeta* sender = gst_buffer_get_net_address_meta(report);
  if (sender != nullptr && G_IS_INET_SOCKET_ADDRESS(sender->addr))
    readers.keep_alive(G_INET_SOCKET_ADDRESS(sender->addr));
}

GstPadProbeReturn take(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer own) {
  RtspReaders& readers = **static_cast<SharedReaders*>(own);
  if ((info->type & GST_PAD_PROBE_TYPE_BUFFER) != 0) {
    keep_alive(readers, gst_pad_probe_info_get_buffer(info));
  } else {
    GstBufferList* list = gst_pad_probe_info_get_buffer_list(info);
    for (guint i = 0; i < gst_buffer_list_length(list); ++i) keep_alive(readers, gst_buffer_list_get(list, i));
  }
  return GST_PAD_PROBE_DROP;
}

void on_pad(GstElement* /*rtpbin*/, GstPad* pad, gpointer own) {
  if (!std::string_view(GST_PAD_NAME(pad)).starts_with("recv_rtcp_sink_")) return;
  constexpr auto data = static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST);
  gst_pad_add_probe(pad, data, c_callback<take, GST_PAD_PROBE_DROP>,
                    new SharedReaders(*static_cast<SharedReaders*>(own)),
                    c_callback<[](gpointer readers) { delete static_cast<SharedReaders*>(readers); }>);
}

}  // namespace

void intercept_reports(GstElement* rtpbin, std::shared_ptr<RtspReaders> readers) {
  g_signal_connect_data(rtpbin, "pad-added", G_CALLBACK(c_callback<on_pad>), new SharedReaders(std::move(readers)),
                        c_callback<[](gpointer own, GClosure*) { delete static_cast<SharedReaders*>(own); }>,
                        GConnectFlags{});
}

}  // namespace campipe
