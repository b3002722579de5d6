// What readers send by RTCP. Anybody can send it to a media's port, or over a channel of their own: eight bytes with
// the media's SSRC have GStreamer's RTP session send BYE to all readers, and each other SSRC makes a source that it
// keeps. So the RTP session gets none of it. All that is used is that a session over UDP from whose port something
// comes is alive.
#pragma once

#include <gst/gst.h>

#include <memory>

#include "app/publisher/server/rtsp/readers.h"

namespace campipe {

// Before `rtpbin` has pads.
void intercept_reports(GstElement* rtpbin, std::shared_ptr<RtspReaders> readers);

}  // namespace campipe
