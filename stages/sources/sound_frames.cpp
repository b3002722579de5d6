#include "stages/sources/sound_frames.h"

#include <algorithm>
#include <array>
#include <new>
#include <span>

extern "C" {
#include <libavutil/common.h>
}

namespace campipe {

bool needs_sound_frames(AVCodecID codec) {
  constexpr std::array codecs{AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3};
  return std::ranges::find(codecs, codec) != codecs.end();
}

SoundFrames::SoundFrames(const AVCodecParameters& stream, AVRational time_base)
    : context_(context_for_parser(stream)), parser_(av_parser_init(stream.codec_id)), time_base_(time_base) {}

void SoundFrames::begin(const AVPacket& packet) {
  packet_ = &packet;
  at_ = 0;
  dated_ = false;
}

// Null: the packet is used up.
AvPacket SoundFrames::next() {
  while (parser_ && at_ < packet_->size) {
    std::uint8_t* data = nullptr;
    int size = 0;
    const std::int64_t pts = dated_ ? AV_NOPTS_VALUE : packet_->pts;
    // Its own count of bytes as the position, or the parser would not know the first packet's time.
    const int used = av_parser_parse2(parser_.get(), context_.get(), &data, &size, packet_->data + at_,
                                      packet_->size - at_, pts, pts, 0);
    if (used < 0) return nullptr;
    dated_ = true;
    at_ += used;
    if (size == 0 && used == 0) return nullptr;
    if (size == 0) continue;
    AvPacket frame = make_av_packet();
    if (av_new_packet(frame.get(), size) < 0) throw std::bad_alloc();
    std::ranges::copy(std::span(data, static_cast<std::size_t>(size)), frame->data);
    frame->stream_index = packet_->stream_index;
    frame->flags = packet_->flags | AV_PKT_FLAG_KEY;
    frame->pts = frame->dts = parser_->pts != AV_NOPTS_VALUE ? parser_->pts : due_;
    if (context_->sample_rate > 0)
      frame->duration = av_rescale_q(parser_->duration, {1, context_->sample_rate}, time_base_);
    due_ = frame->pts != AV_NOPTS_VALUE ? av_sat_add64(frame->pts, frame->duration) : AV_NOPTS_VALUE;
    return frame;
  }
  return nullptr;
}

}  // namespace campipe
