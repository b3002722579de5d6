// What a source could not find out before its first key frame: cameras over MPEG-TS, and some over RTSP, tell the size
// of their frames with key frames only, and who connects in the midst of a group of pictures may have waited for one in
// vain.
#pragma once

#include <memory>

#include "core/ffmpeg.h"
#include "core/source_stream.h"

namespace campipe {

// `stream` as it is, or with the size of its frames, if that is missing and `first` holds it.
std::shared_ptr<const SourceStream> with_size(std::shared_ptr<const SourceStream> stream, const AVPacket& first);

}  // namespace campipe
