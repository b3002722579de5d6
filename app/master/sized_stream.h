// What a source could not find out before its first key frame: cameras over MPEG-TS, and some over RTSP, tell the size
// of their frames with key frames only, and who connects in the midst of a group of pictures may have waited for one in
// vain. And what has changed since: the source's process does not decode, and says what it found when it was opened.
#pragma once

#include <memory>

#include "core/ffmpeg.h"
#include "core/source_stream.h"

namespace campipe {

// `stream` as it is, or with the size of its frames that `first`, a key frame, holds.
std::shared_ptr<const SourceStream> with_size(std::shared_ptr<const SourceStream> stream, const AVPacket& first);

}  // namespace campipe
