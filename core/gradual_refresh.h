// Key frames of H.264 behind which the frames are right only gradually (intra refresh): each has a piece that needs no
// other frame, until all have been sent. A decoder that begins there hands out nothing before.
#pragma once

#include "core/ffmpeg.h"

namespace campipe {

// How many frames behind this key frame the first one is that is right; 0: itself. Anybody's bytes: 1024 at most.
int frames_until_right(const AVCodecParameters& codec, const AVPacket& key_frame);

}  // namespace campipe
