// The port that RTSP is served at. Needs GLib only, not GStreamer, so that a mistake is found at once, on the thread
// that asked for it.
#pragma once

#include <string>

#include "app/publisher/server/rtsp/gst_handles.h"

namespace campipe {

// `address`: as ServerConfig::rtsp_address. Throws Error.
GObjectPtr<GSocket> listen_for_rtsp(const std::string& address);
// "127.0.0.1:8554", as it really is.
std::string local_address(GSocket* socket);

}  // namespace campipe
