// Frames in a GPU's memory, on their way to an encoder on that GPU. CUDA only.
#pragma once

#include "core/ffmpeg.h"
#include "core/frame.h"
#include "core/gpu.h"

namespace campipe {

// An AVHWFramesContext of nv12 frames on this thread's GPU, whose work goes to `stream`. Throws Error.
AvBuffer make_gpu_frames(int width, int height, GpuStream stream);

// A copy of `frame` (nv12 in memory that the GPU can use, at least of the frames' size), enqueued on `stream`.
//
// Not the frame itself: each address is registered with NVENC once, and FFmpeg goes on using that as long as the
// encoder lives, also when a ring's memory has been unmapped and another one has taken its place. Throws Error.
AvFrame copy_to_gpu_frame(const FrameView& in, AVBufferRef& frames, GpuStream stream);

}  // namespace campipe
