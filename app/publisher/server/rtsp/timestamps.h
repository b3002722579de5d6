// What the RTP packets of a frame say themselves of when it was taken: RFC 6051's header extension with an NTP
// timestamp, in the first packet of each frame, and of each frame of audio.
#pragma once

#include <gst/gst.h>

#include <cstdint>

#include "app/config/server_config.h"

namespace campipe {

// Before the pipeline that rtsp_pipeline() describes is started: its payloaders write the extension, of buffers that
// were stamped, and the description of the media (SDP) says so.
void add_timestamps(GstBin* bin, RtspTimestamps timestamps);
// Writes into the buffer when its frame was taken: UTC, ns.
void stamp(GstBuffer* buffer, std::int64_t taken_utc);

}  // namespace campipe
