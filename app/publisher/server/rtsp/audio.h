// How GStreamer makes RTP of a camera's audio.
#pragma once

#include <gst/app/gstappsrc.h>

#include <string>

#include "core/packet.h"

namespace campipe {

// Whether there is a payloader for it here. The rest is for audio of which that is true.
bool has_rtsp_form(const AudioParameters& audio);
// The description of the payloader, which is called "pay1".
std::string rtsp_payloader(const AudioParameters& audio);
// Tells `source` what it will bring.
void set_rtsp_caps(GstAppSrc* source, const AudioParameters& audio);

}  // namespace campipe
