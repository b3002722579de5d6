// A stream as libavformat's muxers want to know it.
#pragma once

#include "core/ffmpeg.h"
#include "core/packet.h"

namespace campipe {

// Fills in `out` (fresh from avformat_new_stream). Throws Error where FFmpeg does not know the codec.
void set_codec_parameters(AVCodecParameters& out, const StreamParameters& stream);
void set_codec_parameters(AVCodecParameters& out, const AudioParameters& audio);

}  // namespace campipe
