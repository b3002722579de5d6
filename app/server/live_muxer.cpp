#include "app/server/live_muxer.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "app/server/live_mime.h"
#include "core/log.h"
#include "stages/sinks/codec_parameters.h"
#include "stages/sinks/rotation.h"
#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace {

constexpr AVRational time_base{1, 90'000};
constexpr std::int64_t longest_step = 10 * 90'000;  // ticks; more is a gap, and says nothing of the next picture
constexpr int ts_delay_us = 100'000;                // between a picture's clock reference and its time to be shown

std::int64_t ticks(std::int64_t ns) { return av_rescale_q(ns, nanoseconds, time_base); }

bool is_avcc(const AVCodecParameters& codec) { return codec.extradata_size > 0 && codec.extradata[0] == 1; }

// The header does not depend on what comes: no edit list, and no shift of times that start below zero. The index at the
// end of a file is left out, since it would grow in memory for as long as somebody watches.
void write_header(AVFormatContext& context, LiveForm form) {
  AVDictionary* options = nullptr;
  if (form == LiveForm::fmp4) {
    context.avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
    av_dict_set(&options, "movflags", "empty_moov+default_base_moof+frag_custom+skip_trailer", 0);
    av_dict_set(&options, "use_editlist", "0", 0);
    av_dict_set_int(&options, "video_track_timescale", time_base.den, 0);
  } else {
    context.max_delay = ts_delay_us;
  }
  const int status = avformat_write_header(&context, &options);
  av_dict_free(&options);
  av_check(status, "cannot begin the live stream");
  avio_flush(context.pb);
}

}  // namespace

std::string why_no_form(LiveForm form, const std::string& codec) {
  if (form == LiveForm::packets || codec == "h264" || codec == "hevc") return {};
  const std::string what = form == LiveForm::fmp4 ? "browsers cannot play " : "MPEG-TS cannot carry ";
  return what + codec + " (set encode.codec to h264)";
}

LiveMuxer::LiveMuxer(LiveForm form, const StreamParameters& stream)
    : form_(form), io_(open_memory_output(written_)), packet_(make_av_packet()) {
  if (const std::string why = why_no_form(form, stream.codec); !why.empty()) throw Error(why);
  if (lacks_headers(stream)) throw Error("the stream has not told its parameter sets");
  const double rate = stream.frame_rate;
  step_ = std::isfinite(rate) && rate > 0 ? std::llround(time_base.den / rate) : time_base.den / 25;
  open(stream);
  write_header(*context_, form_);
  std::vector<std::uint8_t> begin = std::exchange(written_, {});
  if (form_ == LiveForm::mpegts) {
    mime_ = "video/mp2t";
    return;
  }
  header_ = std::move(begin);
  mime_ = mime_of_init_segment(header_);
}

void LiveMuxer::open(const StreamParameters& stream) {
  AVFormatContext* context = nullptr;
  const char* name = form_ == LiveForm::fmp4 ? "mp4" : "mpegts";
  av_check(avformat_alloc_output_context2(&context, nullptr, name, nullptr), name);
  context_.reset(context);
  context_->pb = io_.get();
  AVStream* track = avformat_new_stream(context_.get(), nullptr);
  if (track == nullptr) throw std::bad_alloc();
  set_codec_parameters(*track->codecpar, stream);
  if (form_ == LiveForm::fmp4 && track->codecpar->codec_id == AV_CODEC_ID_HEVC) {
    track->codecpar->codec_tag = MKTAG('h', 'v', 'c', '1');  // the only name that Apple's players take
  }
  track->sample_aspect_ratio = track->codecpar->sample_aspect_ratio;
  track->time_base = time_base;
  if (form_ == LiveForm::fmp4) set_rotation(*track, stream.rotation);
  if (form_ == LiveForm::mpegts) begin_headers();
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

// Decode times below zero, which the first packets have where pictures are reordered, do not exist in MP4: they are
// squeezed in behind zero. Presentation times stay what they are.
void LiveMuxer::fill(const PacketView& packet) {
  AVPacket& out = *packet_;
  av_packet_unref(&out);
  av_check(av_new_packet(&out, static_cast<int>(packet.data.size())), "no memory for a packet");
  std::ranges::copy(packet.data, out.data);
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

std::vector<std::uint8_t> LiveMuxer::mux(const PacketView& packet) {
  fill(packet);
  const bool fmp4 = form_ == LiveForm::fmp4;
  if (headers_) {
    av_check(av_bsf_send_packet(headers_.get(), packet_.get()), "dump_extra");
    av_check(av_bsf_receive_packet(headers_.get(), packet_.get()), "dump_extra");
  }
  // A fragment begins at its packet's own time, not where the durations before it end; a transport stream has its
  // tables before each key frame. Both flags are for the next packet only.
  if (fmp4) av_check(av_opt_set(context_->priv_data, "movflags", "+frag_discont", 0), "movflags");
  if (!fmp4 && packet.key)
    av_check(av_opt_set(context_->priv_data, "mpegts_flags", "+resend_headers", 0), "mpegts_flags");
  int status = av_write_frame(context_.get(), packet_.get());
  av_packet_unref(packet_.get());
  if (status == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (status >= 0 && fmp4) status = av_write_frame(context_.get(), nullptr);
  if (status < 0) spdlog::debug("a damaged packet is left out of a live stream: {}", av_error_text(status));
  avio_flush(io_.get());
  return std::exchange(written_, {});
}

}  // namespace campipe
