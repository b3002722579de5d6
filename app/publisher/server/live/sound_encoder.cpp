#include "app/publisher/server/live/sound_encoder.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include "core/log.h"
#include "stages/sinks/codec_parameters.h"

namespace campipe {
namespace {

constexpr int rate = 48'000;                       // which every browser plays
constexpr std::int64_t bits_per_channel = 64'000;  // a second
constexpr std::int64_t longest_slip = 60'000'000;  // ns: so far a packet may lie from the end of the one before
// This process has the files and the doors of all cameras: of what strangers send it decodes only what is simple.
constexpr std::array<std::string_view, 9> decoded{"pcm_alaw",   "pcm_mulaw",    "pcm_s16be", "pcm_s16le", "adpcm_g722",
                                                  "adpcm_g726", "adpcm_g726le", "mp2",       "mp3"};

std::int64_t ns_of(std::int64_t samples) { return av_rescale_q(samples, {1, rate}, nanoseconds); }

AvCodecContext open_decoder(const AudioParameters& from) {
  if (!SoundEncoder::takes(from)) throw Error("browsers are not sent sound as " + from.codec);
  const AvCodecParameters parameters(avcodec_parameters_alloc());
  if (!parameters) throw std::bad_alloc();
  set_codec_parameters(*parameters, from);
  const AVCodec* codec = avcodec_find_decoder(parameters->codec_id);
  if (codec == nullptr) throw Error("there is no decoder for sound as " + from.codec);
  AvCodecContext decoder(avcodec_alloc_context3(codec));
  if (!decoder) throw std::bad_alloc();
  av_check(avcodec_parameters_to_context(decoder.get(), parameters.get()), from.codec);
  decoder->thread_count = 1;
  decoder->pkt_timebase = nanoseconds;
  av_check(avcodec_open2(decoder.get(), codec, nullptr), "cannot decode sound as " + from.codec);
  return decoder;
}

}  // namespace

bool SoundEncoder::takes(const AudioParameters& from) {
  return std::ranges::find(decoded, from.codec) != decoded.end();
}

SoundEncoder::SoundEncoder(const AudioParameters& from)
    : decoder_(open_decoder(from)), packet_(make_av_packet()), decoded_(make_av_frame()), samples_(make_av_frame()) {
  open_encoder(from.channels == 1 ? 1 : 2);
}

void SoundEncoder::open_encoder(int channels) {
  const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_AAC);
  if (codec == nullptr) throw Error("there is no encoder for AAC");
  encoder_.reset(avcodec_alloc_context3(codec));
  if (!encoder_) throw std::bad_alloc();
  encoder_->sample_rate = rate;
  encoder_->sample_fmt = AV_SAMPLE_FMT_FLTP;
  encoder_->time_base = {1, rate};
  encoder_->bit_rate = bits_per_channel * channels;
  encoder_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  encoder_->thread_count = 1;
  av_channel_layout_default(&encoder_->ch_layout, channels);
  av_check(avcodec_open2(encoder_.get(), codec, nullptr), "cannot encode sound as AAC");
  parameters_.codec = "aac";
  parameters_.sample_rate = rate;
  parameters_.channels = channels;
  parameters_.frame_size = encoder_->frame_size;
  parameters_.extradata.assign(encoder_->extradata, encoder_->extradata + encoder_->extradata_size);
  waiting_.reset(av_audio_fifo_alloc(encoder_->sample_fmt, channels, 4 * encoder_->frame_size));
  if (!waiting_) throw std::bad_alloc();
}

std::vector<SoundEncoder::Sound> SoundEncoder::encode(const PacketView& packet) {
  std::vector<Sound> sound;
  av_packet_unref(packet_.get());
  av_check(av_new_packet(packet_.get(), static_cast<int>(packet.data.size())), "no memory for a packet");
  std::ranges::copy(packet.data, packet_->data);
  packet_->pts = packet_->dts = packet.times.pts;
  if (const int status = avcodec_send_packet(decoder_.get(), packet_.get()); status < 0) {
    spdlog::debug("a damaged packet of sound is left out: {}", av_error_text(status));
    return sound;
  }
  while (avcodec_receive_frame(decoder_.get(), decoded_.get()) >= 0) {
    take(*decoded_);
    while (av_audio_fifo_size(waiting_.get()) >= encoder_->frame_size) encode_frame(sound);
  }
  return sound;
}

void SoundEncoder::take(const AVFrame& frame) {
  const std::int64_t at = frame.pts != AV_NOPTS_VALUE ? frame.pts : packet_->pts;
  const std::int64_t end = begin_.value_or(at) + ns_of(av_audio_fifo_size(waiting_.get()));
  if (!begin_ || std::abs(at - end) > longest_slip) {
    av_audio_fifo_reset(waiting_.get());
    begin_ = at;
  }
  convert(frame);
  void** const data = reinterpret_cast<void**>(samples_->extended_data);
  av_check(av_audio_fifo_write(waiting_.get(), data, samples_->nb_samples), "no memory for sound");
}

// Into samples_. A stream may change its rate or its channels with any frame.
void SoundEncoder::convert(const AVFrame& frame) {
  const auto attempt = [&] {
    av_frame_unref(samples_.get());
    samples_->sample_rate = rate;
    samples_->format = encoder_->sample_fmt;
    av_check(av_channel_layout_copy(&samples_->ch_layout, &encoder_->ch_layout), "sound");
    return swr_convert_frame(converter_.get(), samples_.get(), &frame);
  };
  if (!converter_) converter_.reset(swr_alloc());
  if (!converter_) throw std::bad_alloc();
  int status = attempt();
  if (status == AVERROR_INPUT_CHANGED) {
    converter_.reset(swr_alloc());
    status = attempt();
  }
  av_check(status, "cannot convert sound");
}

void SoundEncoder::encode_frame(std::vector<Sound>& sound) {
  av_frame_unref(samples_.get());
  samples_->nb_samples = encoder_->frame_size;
  samples_->format = encoder_->sample_fmt;
  samples_->sample_rate = rate;
  av_check(av_channel_layout_copy(&samples_->ch_layout, &encoder_->ch_layout), "sound");
  av_check(av_frame_get_buffer(samples_.get(), 0), "no memory for sound");
  av_audio_fifo_read(waiting_.get(), reinterpret_cast<void**>(samples_->extended_data), samples_->nb_samples);
  samples_->pts = av_rescale_q(*begin_, nanoseconds, {1, rate});
  *begin_ += ns_of(encoder_->frame_size);
  av_check(avcodec_send_frame(encoder_.get(), samples_.get()), "cannot encode sound");
  while (avcodec_receive_packet(encoder_.get(), packet_.get()) >= 0) {
    Sound& next = sound.emplace_back();
    next.data.assign(packet_->data, packet_->data + packet_->size);
    next.times.pts = std::max<std::int64_t>(ns_of(packet_->pts), 0);
    next.times.duration = ns_of(encoder_->frame_size);
  }
}

}  // namespace campipe
