#include "app/server/http_snapshots.h"

#include <algorithm>
#include <utility>

#include "core/ffmpeg.h"
#include "stages/sinks/codec_parameters.h"
#include "stages/sinks/jpeg.h"

namespace campipe {
namespace {

constexpr auto remembered_for = std::chrono::milliseconds(500);

AvCodecContext open_decoder_of(const StreamParameters& stream) {
  const AvCodecParameters codec(avcodec_parameters_alloc());
  if (!codec) throw std::bad_alloc();
  set_codec_parameters(*codec, stream);
  const AVCodec* found = avcodec_find_decoder(codec->codec_id);
  if (found == nullptr) throw Error("this FFmpeg was built without a decoder for " + stream.codec);
  AvCodecContext decoder(avcodec_alloc_context3(found));
  if (!decoder) throw std::bad_alloc();
  av_check(avcodec_parameters_to_context(decoder.get(), codec.get()), "decoder");
  decoder->thread_count = 1;
  av_check(avcodec_open2(decoder.get(), found, nullptr), "cannot open the decoder for " + stream.codec);
  return decoder;
}

// Moves what the decoder has into `newest`, which stays what it is if there is nothing.
void receive(AVCodecContext& decoder, AVFrame& newest) {
  const AvFrame frame = make_av_frame();
  while (avcodec_receive_frame(&decoder, frame.get()) == 0) {
    av_frame_unref(&newest);
    av_frame_move_ref(&newest, frame.get());
  }
}

AvFrame newest_picture(const std::vector<LivePiece>& group) {
  const AvCodecContext decoder = open_decoder_of(group.front().header->stream);
  const AvPacket packet = make_av_packet();
  AvFrame newest = make_av_frame();
  for (const LivePiece& piece : group) {
    av_check(av_new_packet(packet.get(), static_cast<int>(piece.bytes->size())), "no memory for a packet");
    std::ranges::copy(*piece.bytes, packet->data);
    avcodec_send_packet(decoder.get(), packet.get());  // a damaged one is left out
    av_packet_unref(packet.get());
    receive(*decoder, *newest);
  }
  avcodec_send_packet(decoder.get(), nullptr);
  receive(*decoder, *newest);
  if (newest->width == 0) throw Error("the newest pictures cannot be decoded");
  return newest;
}

// Into a format that JpegEncoder takes, where it is another.
AvFrame convert(AvFrame picture) {
  const auto format = static_cast<AVPixelFormat>(picture->format);
  if (format == AV_PIX_FMT_YUV420P || format == AV_PIX_FMT_YUVJ420P || format == AV_PIX_FMT_NV12) return picture;
  AvFrame out = make_av_frame();
  av_check(av_frame_copy_props(out.get(), picture.get()), "no memory for a picture");
  out->format = AV_PIX_FMT_YUV420P;
  out->width = picture->width;
  out->height = picture->height;
  av_check(av_frame_get_buffer(out.get(), 0), "no memory for a picture");
  const Scaler scaler(sws_getContext(picture->width, picture->height, format, out->width, out->height,
                                     AV_PIX_FMT_YUV420P, SWS_BICUBIC, nullptr, nullptr, nullptr));
  if (!scaler) throw Error("a picture cannot be converted for JPEG");
  const int range =
      picture->color_range == AVCOL_RANGE_JPEG || format == AV_PIX_FMT_YUVJ422P || format == AV_PIX_FMT_YUVJ444P ? 1
                                                                                                                 : 0;
  out->color_range = range != 0 ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
  const int* colours = sws_getCoefficients(SWS_CS_DEFAULT);
  sws_setColorspaceDetails(scaler.get(), colours, range, colours, range, 0, 1 << 16, 1 << 16);
  av_check(sws_scale(scaler.get(), picture->data, picture->linesize, 0, picture->height, out->data, out->linesize),
           "a picture cannot be converted for JPEG");
  return out;
}

FrameView view_of(const AVFrame& picture, FrameFormat format) {
  format.pixels = picture.format == AV_PIX_FMT_NV12 ? PixelFormat::nv12 : PixelFormat::i420;
  format.width = picture.width;
  format.height = picture.height;
  const bool full = picture.color_range == AVCOL_RANGE_JPEG || picture.format == AV_PIX_FMT_YUVJ420P;
  format.color_range = static_cast<std::uint8_t>(full ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG);
  if (picture.colorspace != AVCOL_SPC_UNSPECIFIED) format.color_space = static_cast<std::uint8_t>(picture.colorspace);
  FrameView view;
  view.format = format;
  for (std::size_t plane = 0; plane < view.data.size(); ++plane) {
    view.data[plane] = picture.data[plane];
    view.stride[plane] = picture.linesize[plane];
  }
  return view;
}

}  // namespace

std::vector<std::uint8_t> jpeg_of(const std::vector<LivePiece>& group) {
  const AvFrame picture = convert(newest_picture(group));
  JpegEncoder encoder;
  const auto jpeg = encoder.encode(view_of(*picture, group.front().header->stream.format));
  return {jpeg.begin(), jpeg.end()};
}

std::shared_ptr<const std::vector<std::uint8_t>> HttpSnapshots::take(const std::string& name,
                                                                     const LiveStream& stream) {
  std::unique_lock lock(mutex_);
  std::erase_if(pictures_, [](const auto& entry) { return entry.second->of.expired(); });
  auto& place = pictures_[name];
  if (!place || place->of.lock().get() != &stream) {
    place = std::make_shared<Picture>();
    place->of = stream.weak_from_this();
  }
  const auto picture = place;
  lock.unlock();
  const std::lock_guard making(picture->mutex);
  if (picture->jpeg && Clock::now() - picture->made < remembered_for) return picture->jpeg;
  const auto group = stream.newest_group();
  if (group.empty()) return nullptr;
  picture->jpeg = std::make_shared<const std::vector<std::uint8_t>>(jpeg_of(group));
  picture->made = Clock::now();
  return picture->jpeg;
}

}  // namespace campipe
