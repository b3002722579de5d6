#include "stages/sources/unit_parser.h"

#include <new>

namespace campipe {

AvCodecContext context_for_parser(const AVCodecParameters& stream) {
  AvCodecContext context(avcodec_alloc_context3(nullptr));
  if (!context || avcodec_parameters_to_context(context.get(), &stream) < 0) throw std::bad_alloc();
  return context;
}

UnitParser::UnitParser(const AVCodecParameters& stream)
    : context_(context_for_parser(stream)), parser_(av_parser_init(stream.codec_id)) {
  if (parser_) parser_->flags |= PARSER_FLAG_COMPLETE_FRAMES;
}

void UnitParser::flag_key(AVPacket& packet) {
  if (!parser_) return;
  std::uint8_t* data = nullptr;
  int size = 0;
  av_parser_parse2(parser_.get(), context_.get(), &data, &size, packet.data, packet.size, AV_NOPTS_VALUE,
                   AV_NOPTS_VALUE, -1);
  const bool unknown = parser_->key_frame < 0;
  if (unknown && parser_->pict_type == AV_PICTURE_TYPE_NONE) return;  // as the depacketizer has it
  const bool key = unknown ? parser_->pict_type == AV_PICTURE_TYPE_I : parser_->key_frame > 0;
  packet.flags = key ? packet.flags | AV_PKT_FLAG_KEY : packet.flags & ~AV_PKT_FLAG_KEY;
}

}  // namespace campipe
