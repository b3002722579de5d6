// Live sources: what libavformat reads from a network (RTSP, HTTP, HLS, SRT, UDP, RTP, TCP), and capture devices.
//
// Opening ends when the first packet of the video is there, so that a camera that answers and sends nothing fails
// while opening. Over HTTP, a stream that is over ends (ReadResult::end); all others are lost.
#pragma once

#include "stages/sources/source.h"

namespace campipe {

std::unique_ptr<Source> open_stream_source(const SourceConfig& config, const Source::Interrupt& interrupt);

}  // namespace campipe
