// What there is to know of an input that was opened by HTTP.
#pragma once

#include <string>

#include "core/ffmpeg.h"
#include "stages/sources/source.h"

namespace campipe {

bool is_hls(const AVFormatContext& input);
// Its first tag names a duration whether it is live or not: only a file has a size, too.
bool is_endless_flv(const AVFormatContext& input);
// A file that can be read only by going back, from a server that gives no parts of it.
bool needs_parts(const AVFormatContext& input);
SourceError needs_parts_error(const std::string& shown);

}  // namespace campipe
