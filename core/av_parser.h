// The owner of one of libavcodec's parsers.
#pragma once

#include <memory>

#include "core/ffmpeg.h"

namespace campipe {

struct AvParserCloser {
  void operator()(AVCodecParserContext* parser) const { av_parser_close(parser); }
};
using AvParser = std::unique_ptr<AVCodecParserContext, AvParserCloser>;

}  // namespace campipe
