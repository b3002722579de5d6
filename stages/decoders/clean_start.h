// Where a stream begins anew: from such a packet on no frame refers to one before it, so that a decoder may be given it
// right behind any other packet of the same stream, without being emptied and flushed. That is an IDR picture of H.264
// and HEVC, and any key frame of AV1, VP8 and VP9. Other key frames may be followed by frames that refer to what came
// before (open groups of pictures), which only a decoder that was flushed leaves out.
#pragma once

#include "core/ffmpeg.h"

namespace campipe {

// `packet` is a key frame of the stream that `codec` describes. Anybody's bytes: what is not understood is no clean
// start.
bool is_clean_start(const AVCodecParameters& codec, const AVPacket& packet);

}  // namespace campipe
