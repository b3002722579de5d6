#include "stages/sources/http_input.h"

#include <cstring>

extern "C" {
#include <libavutil/avstring.h>
}

namespace campipe {

bool is_hls(const AVFormatContext& input) { return std::strcmp(input.iformat->name, "hls") == 0; }

bool is_endless_flv(const AVFormatContext& input) {
  return av_match_name("flv", input.iformat->name) != 0 && avio_size(input.pb) <= 0;
}

bool needs_parts(const AVFormatContext& input) {
  const AVIOContext* io = input.pb;
  return av_match_name("mp4", input.iformat->name) != 0 && input.duration > 0 && io != nullptr &&
         (io->seekable & AVIO_SEEKABLE_NORMAL) == 0;
}

SourceError needs_parts_error(const std::string& shown) {
  return {SourceError::Kind::unsupported,
          shown +
              " is an MP4 file with its index at its end, and its server does not give parts of it "
              "(put the index first: ffmpeg -i … -c copy -movflags +faststart …)"};
}

}  // namespace campipe
