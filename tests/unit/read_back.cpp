#include "tests/unit/read_back.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "core/error.h"
#include "tests/unit/moving_picture.h"

namespace campipe::test {

namespace {

int warnings = 0;

void count_warnings(void*, int level, const char* text, va_list arguments) {
  if (level > AV_LOG_WARNING) return;
  ++warnings;
  std::vprintf(text, arguments);
}

void decode_into(Contents& contents, AVCodecContext& decoder, const AVPacket* packet, AVRational time_base) {
  av_check(avcodec_send_packet(&decoder, packet), "decode");
  const AvFrame frame = make_av_frame();
  while (avcodec_receive_frame(&decoder, frame.get()) == 0) {
    const int number = static_cast<int>(contents.shown.size());
    contents.shown.push_back(av_rescale_q(frame->pts, time_base, nanoseconds));
    contents.worst_difference =
        std::max(contents.worst_difference,
                 test::difference(frame->data[0], frame->linesize[0], frame->width, frame->height, number));
  }
}

}  // namespace

Contents read_back(const std::filesystem::path& path) {
  av_log_set_callback(count_warnings);
  warnings = 0;
  AVFormatContext* raw = nullptr;
  av_check(avformat_open_input(&raw, path.c_str(), nullptr, nullptr), path);
  const AvInput input(raw);
  av_check(avformat_find_stream_info(input.get(), nullptr), path);
  if (input->nb_streams != 1) throw Error("one stream was expected in " + path.string());
  const AVStream& track = *input->streams[0];
  Contents contents;
  contents.parameters.reset(avcodec_parameters_alloc());
  avcodec_parameters_copy(contents.parameters.get(), track.codecpar);
  const AvCodecContext decoder(avcodec_alloc_context3(avcodec_find_decoder(track.codecpar->codec_id)));
  avcodec_parameters_to_context(decoder.get(), track.codecpar);
  decoder->thread_count = 1;
  av_check(avcodec_open2(decoder.get(), nullptr, nullptr), "decoder");
  const AvPacket packet = make_av_packet();
  while (av_read_frame(input.get(), packet.get()) == 0) {
    contents.pts.push_back(av_rescale_q(packet->pts, track.time_base, nanoseconds));
    contents.dts.push_back(packet->dts);
    contents.keys.push_back((packet->flags & AV_PKT_FLAG_KEY) != 0);
    decode_into(contents, *decoder, packet.get(), track.time_base);
    av_packet_unref(packet.get());
  }
  decode_into(contents, *decoder, nullptr, track.time_base);
  av_log_set_callback(av_log_default_callback);
  contents.warnings = warnings;
  return contents;
}

}  // namespace campipe::test
