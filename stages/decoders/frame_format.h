// What libavcodec reports of a frame, in campipe's types: colours that libav has no name for are unspecified, and a
// shape of samples that none has is unknown. libav itself hands on whatever number a stranger has written there.
#pragma once

#include "core/ffmpeg.h"
#include "core/frame.h"

namespace campipe {

// `coded`: the frame's own pixel format, or of a frame on a GPU the one that it would have on the CPU. `pixels`: as the
// frame will lie in the ring.
FrameFormat format_of(const AVFrame& frame, AVPixelFormat coded, PixelFormat pixels);
// The same, as far as it is known before the first frame.
FrameFormat expected_format(const AVCodecParameters& stream, PixelFormat pixels);

}  // namespace campipe
