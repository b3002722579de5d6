// What libavcodec's parsers find in the head of a whole frame.
#pragma once

#include "core/av_parser.h"
#include "core/ffmpeg.h"

namespace campipe {

// A decoder's context that knows `stream`, for a parser. Throws std::bad_alloc.
AvCodecContext context_for_parser(const AVCodecParameters& stream);

class UnitParser {
 public:
  // Throws std::bad_alloc.
  explicit UnitParser(const AVCodecParameters& stream);
  // Sets the packet's AV_PKT_FLAG_KEY. For all packets of the stream, in order.
  void flag_key(AVPacket& packet);
  // The last packet's frame is shown before one that was decoded before it.
  [[nodiscard]] bool is_b_frame() const { return parser_ && parser_->pict_type == AV_PICTURE_TYPE_B; }

 private:
  AvCodecContext context_;
  AvParser parser_;  // null: this FFmpeg has none
};

}  // namespace campipe
