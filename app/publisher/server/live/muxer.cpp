#include "app/publisher/server/live/muxer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <span>
#include <utility>

#include "app/publisher/server/live/mime.h"
#include "app/publisher/server/live/mp4_box.h"
#include "core/big_endian.h"
#include "core/libav_options.h"
#include "core/log.h"
#include "stages/sinks/codec_parameters.h"
#include "stages/sinks/muxer.h"
#include "stages/sinks/producer_time.h"
#include "stages/sinks/rotation.h"
#include "stages/sinks/sample_data.h"
#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace {

constexpr AVRational time_base{1, 90'000};
constexpr std::int64_t longest_step = 10 * 90'000;  // ticks; more is a gap, and no measure of the next frame
constexpr int ts_delay_us = 100'000;                // between a frame's clock reference and its time to be shown

std::int64_t ticks(std::int64_t ns) { return av_rescale_q(ns, nanoseconds, time_base); }

bool is_mp4(LiveForm form) { return form != LiveForm::mpegts; }

bool is_avcc(const AVCodecParameters& codec) { return codec.extradata_size > 0 && codec.extradata[0] == 1; }

void copy(const PacketView& packet, AVPacket& out) {
  av_packet_unref(&out);
  av_check(av_new_packet(&out, static_cast<int>(packet.data.size())), "no memory for a packet");
  std::ranges::copy(packet.data, out.data);
}

// The header does not depend on what comes: no edit list, and no shift of times that start below zero. The index at the
// end of a file is left out, since it would grow in memory for as long as it is watched.
void write_header(AVFormatContext& context, LiveForm form) {
  LibavOptions options;
  if (is_mp4(form)) {
    context.avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
    options.set("movflags", "empty_moov+default_base_moof+frag_custom+skip_trailer");
    options.set("use_editlist", "0");
    options.set("video_track_timescale", time_base.den);
  } else {
    context.max_delay = ts_delay_us;
    options.set("pes_payload_size", 0);  // no frame of audio waits for the next one
  }
  const int status = avformat_write_header(&context, options.get());
  av_check(status, "cannot begin the live stream");
  avio_flush(context.pb);
}

}  // namespace

std::string why_no_form(LiveForm form, const std::string& codec) {
  if (form == LiveForm::packets || form == LiveForm::sound || codec == "h264" || codec == "hevc") return {};
  const std::string what = is_mp4(form) ? "browsers cannot play " : "MPEG-TS cannot carry ";
  return what + codec + " (set encode.codec to h264)";
}

bool can_hold(LiveForm form, const AudioParameters& audio) {
  if (form == LiveForm::mp4) return can_hold(Container::mp4, audio);
  if (form == LiveForm::sound) return !mime_of_sound(audio).empty();
  constexpr std::array<std::string_view, 6> in_ts{"aac", "mp2", "mp3", "ac3", "eac3", "opus"};
  return form == LiveForm::mpegts && std::ranges::count(in_ts, audio.codec) != 0 && audio.sample_rate > 0;
}

LiveMuxer::LiveMuxer(LiveForm form, const StreamParameters& stream, const std::optional<AudioParameters>& audio)
    : form_(form), io_(open_memory_output(written_)), packet_(make_av_packet()) {
  open();
  if (form != LiveForm::sound) add_video(stream);
  if (audio) add_audio(*audio);
  write_header(*context_, form_);
  std::vector<std::uint8_t> begin = std::exchange(written_, {});
  if (form_ == LiveForm::mpegts) {
    mime_ = "video/mp2t";
    return;
  }
  header_ = std::move(begin);
  if (form_ == LiveForm::sound) {
    mime_ = mime_of_sound(*audio);
  } else {
    mime_ = audio ? "video/mp4" : mime_of_init_segment(header_);
  }
}

void LiveMuxer::open() {
  AVFormatContext* context = nullptr;
  const char* name = is_mp4(form_) ? "mp4" : "mpegts";
  av_check(avformat_alloc_output_context2(&context, nullptr, name, nullptr), name);
  context_.reset(context);
  context_->pb = io_.get();
  context_->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;  // as which FFmpeg 5 takes FLAC in MP4
}

void LiveMuxer::add_video(const StreamParameters& stream) {
  if (const std::string why = why_no_form(form_, stream.codec); !why.empty()) throw Error(why);
  if (lacks_headers(stream)) throw Error("the stream has not sent its parameter sets");
  const double rate = stream.frame_rate;
  step_ = std::isfinite(rate) && rate > 0 ? std::llround(time_base.den / rate) : time_base.den / 25;
  AVStream* track = avformat_new_stream(context_.get(), nullptr);
  if (track == nullptr) throw std::bad_alloc();
  set_codec_parameters(*track->codecpar, stream);
  if (is_mp4(form_) && track->codecpar->codec_id == AV_CODEC_ID_HEVC) {
    track->codecpar->codec_tag = MKTAG('h', 'v', 'c', '1');  // the only name that Apple's players take
  }
  track->sample_aspect_ratio = track->codecpar->sample_aspect_ratio;
  track->time_base = time_base;
  if (is_mp4(form_)) set_rotation(*track, stream.rotation);
  if (form_ == LiveForm::mpegts) begin_headers();
}

void LiveMuxer::add_audio(const AudioParameters& audio) {
  audio_ = avformat_new_stream(context_.get(), nullptr);
  if (audio_ == nullptr) throw std::bad_alloc();
  set_codec_parameters(*audio_->codecpar, audio);
  audio_->time_base = {1, audio.sample_rate};
}

// Encoders keep the headers out of the stream, as files want it; who tunes in later needs them at every key frame.
// Where they are of MP4's kind, the muxer puts them in by itself.
void LiveMuxer::begin_headers() {
  const AVCodecParameters& codec = *context_->streams[0]->codecpar;
  if (is_avcc(codec)) return;
  AVBSFContext* filter = nullptr;
  av_check(av_bsf_alloc(av_bsf_get_by_name("dump_extra"), &filter), "dump_extra");
  headers_.reset(filter);
  av_check(avcodec_parameters_copy(headers_->par_in, &codec), "dump_extra");
  av_check(av_bsf_init(headers_.get()), "dump_extra");
}

// Decode times below zero, which the first packets have where frames are reordered, do not exist in MP4: they are
// squeezed in behind zero. Presentation times stay what they are.
void LiveMuxer::fill(const PacketView& packet) {
  AVPacket& out = *packet_;
  copy(packet, out);
  out.dts = std::max<std::int64_t>(ticks(packet.dts), 0);
  if (last_dts_) {
    out.dts = std::max(out.dts, *last_dts_ + 1);
    if (const std::int64_t step = out.dts - *last_dts_; step < longest_step) step_ = step;
  }
  last_dts_ = out.dts;
  out.pts = std::max(ticks(packet.times.pts), out.dts);
  const std::int64_t duration = packet.times.duration > 0 ? ticks(packet.times.duration) : step_;
  out.duration = std::clamp<std::int64_t>(duration, 1, longest_step);
  out.flags = packet.key ? AV_PKT_FLAG_KEY : 0;
}

void LiveMuxer::fill_audio(const PacketView& packet) {
  AVPacket& out = *packet_;
  copy(packet, out);
  const AVRational base = audio_->time_base;
  const AVCodecParameters& codec = *audio_->codecpar;
  out.stream_index = audio_->index;
  out.pts = std::max<std::int64_t>(av_rescale_q(packet.times.pts, nanoseconds, base), 0);
  if (last_audio_) out.pts = std::max(out.pts, *last_audio_ + 1);
  last_audio_ = out.dts = out.pts;
  const std::int64_t duration = packet.times.duration > 0
                                    ? av_rescale_q(packet.times.duration, nanoseconds, base)
                                    : av_rescale_q(codec.frame_size, {1, codec.sample_rate}, base);
  out.duration = std::max<std::int64_t>(duration, 1);
  out.flags = AV_PKT_FLAG_KEY;
}

std::vector<std::uint8_t> LiveMuxer::mux(const PacketView& packet) {
  const AVCodecParameters& codec = *context_->streams[0]->codecpar;
  const std::span<const std::uint8_t> extradata(codec.extradata, static_cast<std::size_t>(codec.extradata_size));
  if (is_mp4(form_) && !makes_sample(avcodec_get_name(codec.codec_id), extradata, packet.data)) return {};
  fill(packet);
  if (headers_) {
    av_check(av_bsf_send_packet(headers_.get(), packet_.get()), "dump_extra");
    av_check(av_bsf_receive_packet(headers_.get(), packet_.get()), "dump_extra");
  }
  // A transport stream has its tables before each key frame. The flag is for the next packet only.
  if (!is_mp4(form_) && packet.key)
    av_check(av_opt_set(context_->priv_data, "mpegts_flags", "+resend_headers", 0), "mpegts_flags");
  return write(packet.times.capture_utc);
}

std::vector<std::uint8_t> LiveMuxer::mux_audio(const PacketView& packet) {
  if (audio_ == nullptr) return {};
  fill_audio(packet);
  return write(0);
}

// `taken_utc`: 0: not known.
std::vector<std::uint8_t> LiveMuxer::write(std::int64_t taken_utc) {
  if (is_mp4(form_)) return write_fragment(taken_utc);
  const int status = av_write_frame(context_.get(), packet_.get());
  return written(status);
}

// A fragment begins at its packet's own time. Where that is before the end of the one before, which happens as it is
// not known yet how long the newest frame will last, libavformat would move it there. So to libavformat each begins at
// the end of the one before, and its time is put in afterwards.
std::vector<std::uint8_t> LiveMuxer::write_fragment(std::int64_t taken_utc) {
  AVPacket& packet = *packet_;
  const auto track = static_cast<std::uint32_t>(packet.stream_index) + 1;
  const std::int64_t shown = packet.pts;
  std::int64_t& end = fragments_end_.at(static_cast<std::size_t>(packet.stream_index));
  const std::int64_t time = packet.dts;
  packet.pts += end - time;
  packet.dts = end;
  const std::int64_t next = end + packet.duration;
  int status = av_write_frame(context_.get(), packet_.get());
  if (status >= 0) status = av_write_frame(context_.get(), nullptr);
  std::vector<std::uint8_t> fragment = written(status);
  const auto place = time_of_fragment(fragment);
  if (place.empty()) return fragment;
  end = next;
  put_big_endian(static_cast<std::uint64_t>(time), static_cast<int>(place.size()), place.data());
  if (taken_utc > 0) {
    const auto box = producer_time_box(track, taken_utc, shown);
    fragment.insert(fragment.begin(), box.begin(), box.end());
  }
  return fragment;
}

// `status`: what libavformat returned.
std::vector<std::uint8_t> LiveMuxer::written(int status) {
  av_packet_unref(packet_.get());
  if (status == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (status < 0) spdlog::debug("a damaged packet is left out of a live stream: {}", av_error_text(status));
  avio_flush(io_.get());
  return std::exchange(written_, {});
}

}  // namespace campipe
