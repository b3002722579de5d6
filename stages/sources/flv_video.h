// Which video an FLV stream has. libavformat takes a codec that it does not know for none at all, and its first packets
// for another codec (enhanced RTMP's headers have no meaning for it).
#pragma once

#include <string>

#include "core/ffmpeg.h"

namespace campipe {

// Of what is read from `io`, at whose beginning it is, and which is as before then: why its video cannot be read, to
// stand behind the source's name; empty: it can, or it is no FLV, or its beginning has no video.
std::string unknown_flv_video(AVIOContext& io);

}  // namespace campipe
