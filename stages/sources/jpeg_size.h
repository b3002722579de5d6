// The size of JPEG by RTP. Its headers have eight bits for an eighth of each side (RFC 2435, 3.1.5): of frames that are
// wider or higher than 2040 they say 0, or what is left beyond 2048. Then the camera's description has it, as
// `a=x-dimensions` (GStreamer) or `a=framesize` (3GPP TS 26.234).
#pragma once

#include "core/ffmpeg.h"

namespace campipe {

class RtspDialogue;

// Before the analysis of `input`, which could not find out what is described only.
void announce_jpeg_sizes(AVFormatContext& input, const RtspDialogue& dialogue);

// Of a packet of JPEG, before anybody else gets it: what its header leaves open is put in, by `codec`, the stream's.
// False: neither says how large it is.
bool complete_jpeg_size(AVPacket& packet, AVCodecParameters& codec);

}  // namespace campipe
