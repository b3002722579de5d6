// Times for the first packets of a stream whose frames are shown in another order than they are decoded in: libavformat
// does not know yet how many frames a decoder keeps back. It says nothing of these packets, or of the very first one of
// RTSP what is wrong.
#pragma once

#include <cstdint>
#include <span>

#include "core/ffmpeg.h"

namespace campipe {

// `first`: packets of the video, in order, of which none but the first one has a time of decoding; `next` follows them
// and has one. What is as it must be stays so. `frame`: how long a frame is, in their time base, > 0. A time of
// presentation that is missing becomes the one before the earliest of those that follow.
void date_first_packets(std::span<AVPacket* const> first, const AVPacket& next, std::int64_t frame);

}  // namespace campipe
