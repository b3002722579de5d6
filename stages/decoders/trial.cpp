#include "stages/decoders/trial.h"

#include <new>

namespace campipe {
namespace {

bool is_whole(const AVFrame& frame) {
  return frame.decode_error_flags == 0 && (frame.flags & AV_FRAME_FLAG_CORRUPT) == 0;
}

// Of codes that do not say that the frame is wrong.
bool is_lacking(int code) {
  return code == AVERROR_PATCHWELCOME || code == AVERROR(ENOSYS) || code == AVERROR(ENOMEM) || code == AVERROR(EINVAL);
}

}  // namespace

Trial try_key_frame(const AVCodecParameters& codec, const AVPacket& packet) {
  const AVCodec* decoder = avcodec_find_decoder(codec.codec_id);
  if (decoder == nullptr) return Trial::unknown;
  const AvCodecContext context(avcodec_alloc_context3(decoder));
  if (!context) throw std::bad_alloc();
  if (avcodec_parameters_to_context(context.get(), &codec) < 0) return Trial::unknown;
  context->thread_count = 1;
  // HEVC's marks no frames in which something was missing.
  if (codec.codec_id == AV_CODEC_ID_HEVC) context->err_recognition = AV_EF_EXPLODE;
  if (avcodec_open2(context.get(), decoder, nullptr) < 0) return Trial::unknown;
  const int sent = avcodec_send_packet(context.get(), &packet);
  if (sent < 0) return is_lacking(sent) ? Trial::unknown : Trial::faulty;
  avcodec_send_packet(context.get(), nullptr);
  const AvFrame frame = make_av_frame();
  const int received = avcodec_receive_frame(context.get(), frame.get());
  if (received < 0) return is_lacking(received) ? Trial::unknown : Trial::faulty;
  return is_whole(*frame) ? Trial::shown : Trial::faulty;
}

}  // namespace campipe
