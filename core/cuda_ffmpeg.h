// How FFmpeg's decoders and encoders get to campipe's GPU and stream. CUDA only.
#pragma once

#include "core/ffmpeg.h"
#include "core/gpu.h"

namespace campipe {

// An AVHWDeviceContext of this thread's GPU (use_gpu); all that FFmpeg does with it for the camera goes to `stream`,
// which must outlive it. Throws Error.
AvBuffer make_ffmpeg_device(GpuStream stream);

}  // namespace campipe
