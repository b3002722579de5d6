#include "tests/unit/audio_clip.h"

#include <cstdlib>

#include "core/error.h"
#include "core/ffmpeg.h"

namespace campipe::test {

namespace {

void describe(Sent& sent, const AVCodecParameters& codec) {
  const std::vector<std::uint8_t> extradata(codec.extradata, codec.extradata + codec.extradata_size);
  if (codec.codec_type == AVMEDIA_TYPE_VIDEO) {
    StreamParameters& video = sent.video.parameters;
    video.codec = avcodec_get_name(codec.codec_id);
    video.encoder = "copy";
    video.format.width = codec.width;
    video.format.height = codec.height;
    video.frame_rate = 25;
    video.extradata = extradata;
  } else {
    AudioParameters& audio = sent.audio_parameters;
    audio.codec = avcodec_get_name(codec.codec_id);
    audio.sample_rate = codec.sample_rate;
    audio.channels = codec.ch_layout.nb_channels;
    audio.frame_size = codec.frame_size;
    audio.bits_per_coded_sample = codec.bits_per_coded_sample;
    audio.block_align = codec.block_align;
    audio.extradata = extradata;
  }
}

}  // namespace

Sent make(const std::filesystem::path& file, const std::string& arguments) {
  const std::string command = "ffmpeg -v error -y " + arguments + " '" + file.string() + "'";
  if (std::system(command.c_str()) != 0) throw Error("failed: " + command);
  AVFormatContext* raw = nullptr;
  av_check(avformat_open_input(&raw, file.c_str(), nullptr, nullptr), file);
  const AvInput input(raw);
  av_check(avformat_find_stream_info(input.get(), nullptr), file);
  Sent sent;
  for (unsigned i = 0; i < input->nb_streams; ++i) describe(sent, *input->streams[i]->codecpar);
  const AvPacket packet = make_av_packet();
  while (av_read_frame(input.get(), packet.get()) == 0) {
    const AVStream& stream = *input->streams[packet->stream_index];
    const auto ns = [&](std::int64_t t) {
      return av_rescale_q(t, stream.time_base, nanoseconds) -
             av_rescale_q(input->start_time, {1, AV_TIME_BASE}, nanoseconds);
    };
    const std::int64_t dts = packet->dts == AV_NOPTS_VALUE ? no_time : ns(packet->dts);
    Packet copy{{packet->data, packet->data + packet->size}, dts, (packet->flags & AV_PKT_FLAG_KEY) != 0, {}};
    copy.times.pts = ns(packet->pts);
    copy.times.duration = av_rescale_q(packet->duration, stream.time_base, nanoseconds);
    const bool video = stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO;
    (video ? sent.video.packets : sent.audio).push_back(copy);
    av_packet_unref(packet.get());
  }
  // Matroska's first frames have none where there are B-frames.
  for (std::size_t i = sent.video.packets.size(); i-- > 1;) {
    Packet& before = sent.video.packets[i - 1];
    if (before.dts == no_time) before.dts = sent.video.packets[i].dts - before.times.duration;
  }
  return sent;
}

}  // namespace campipe::test
