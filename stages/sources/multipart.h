// The beginning of a multipart stream (MJPEG of cameras), as libavformat takes it.
#pragma once

#include <string_view>

#include "core/ffmpeg.h"

namespace campipe {

// `type`: a content type, in lower case.
bool is_multipart(std::string_view type);
// libavformat takes no stream for multipart whose first part has no boundary before its headers, or some text: it reads
// a boundary first, and no such text.
void begin_with_boundary(AVIOContext& io);

}  // namespace campipe
