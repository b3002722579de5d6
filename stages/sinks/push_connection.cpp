#include "stages/sinks/push_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <string_view>
#include <utility>

#include "core/clock.h"
#include "core/libav_options.h"
#include "core/name_lookup.h"
#include "stages/sinks/codec_parameters.h"

namespace campipe {
namespace {

using Remedy = PushError::Remedy;

constexpr std::int64_t millisecond = 1'000'000;
constexpr std::int64_t oldest_frame = 20'000 * millisecond;  // of those that wait, when a connection begins

bool writes_itself(const AVFormatContext& context) { return (context.oformat->flags & AVFMT_NOFILE) != 0; }

bool is_avcc(const AVCodecParameters& codec) { return codec.extradata_size > 0 && codec.extradata[0] == 1; }

bool wants_credentials(int code) { return code == AVERROR_HTTP_UNAUTHORIZED || code == AVERROR_HTTP_FORBIDDEN; }

// Codes by which libavformat reports no more than that something went wrong, or that an answer was one of a class; what
// it logs then names the request and the answer.
bool is_vague(int code) {
  constexpr std::array vague{
      AVERROR(EIO),           AVERROR(EPERM),         AVERROR(EINVAL),          AVERROR_UNKNOWN,
      AVERROR_INVALIDDATA,    AVERROR_EXTERNAL,       AVERROR_HTTP_BAD_REQUEST, AVERROR_HTTP_UNAUTHORIZED,
      AVERROR_HTTP_FORBIDDEN, AVERROR_HTTP_NOT_FOUND, AVERROR_HTTP_OTHER_4XX,   AVERROR_HTTP_SERVER_ERROR};
  return std::ranges::find(vague, code) != vague.end();
}

std::string seconds_text(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 1000) + " s";
}

}  // namespace

PushWatch::PushWatch(const PushTarget& target, std::function<bool()> stop)
    : target_(target),
      stop_(std::move(stop)),
      messages_([&target](const std::string& line) { return scrubbed(line, target); }) {}

void PushWatch::allow(std::chrono::nanoseconds time) {
  deadline_ = Clock::now() + time;
  timed_out_ = false;
  messages_.clear();
}

bool PushWatch::ask() {
  if (stop_()) return true;
  timed_out_ = timed_out_ || Clock::now() >= deadline_;
  return timed_out_;
}

std::string PushWatch::heard() const {
  const std::vector<LibavMessages::Line>& lines = messages_.lines();
  const auto is_error = [](const LibavMessages::Line& line) { return line.level <= AV_LOG_ERROR; };
  const auto newest = std::find_if(lines.rbegin(), lines.rend(), is_error);
  return newest == lines.rend() ? "" : scrubbed(newest->text, target_);
}

void PushConnection::Closer::operator()(AVFormatContext* context) const {
  if (!writes_itself(*context)) avio_closep(&context->pb);
  avformat_free_context(context);
}

PushConnection::PushConnection(const PushTarget& target, const PushStream& stream, std::chrono::nanoseconds patience,
                               std::function<bool()> stop)
    : target_(target), patience_(patience), watch_(target, std::move(stop)) {
  if (!can_carry(target, stream.video.codec)) {
    throw PushError(
        AVERROR_PATCHWELCOME, Remedy::none,
        target.scheme + " cannot carry " + stream.video.codec + " (set encode.codec to h264, or push to rtsp)");
  }
  watch_.allow(patience_);
  open();
  add_tracks(stream);
  begin_headers();
  greet();
}

PushConnection::~PushConnection() {
  watch_.allow(failed_ ? std::chrono::nanoseconds(0) : patience_);
  // Not all that libav writes to asks before: datagrams are sent at once.
  if (watch_.ask() && context_->pb != nullptr) context_->pb->error = AVERROR_EXIT;
  // It also closes what the muxer has opened, so it must be called whatever has happened. Whether the other side has
  // heard the farewell changes nothing.
  av_write_trailer(context_.get());
}

void PushConnection::open() {
  if (!can_resolve(target_.host, [this] { return watch_.ask(); })) {
    throw PushError(AVERROR(ENOENT), Remedy::wait,
                    scrubbed("the name '" + target_.host + "' is not known", target_) +
                        " (is it right, and does the network work?)");
  }
  AVFormatContext* context = nullptr;
  check(avformat_alloc_output_context2(&context, target_.format, nullptr, target_.opened.c_str()));
  context_.reset(context);
  context_->interrupt_callback = watch_.callback();
  context_->flush_packets = 1;
  if (writes_itself(*context_)) return;
  LibavOptions options;
  if (target_.scheme == "udp") options.set("pkt_size", "1316");  // whole packets of MPEG-TS in each datagram
  if (target_.passphrase) options.set("passphrase", *target_.passphrase);
  if (target_.stream_id) options.set("streamid", *target_.stream_id);
  check(
      avio_open2(&context_->pb, target_.opened.c_str(), AVIO_FLAG_WRITE, &context_->interrupt_callback, options.get()));
}

void PushConnection::add_tracks(const PushStream& stream) {
  AVStream* video = avformat_new_stream(context_.get(), nullptr);
  if (video == nullptr) throw std::bad_alloc();
  set_codec_parameters(*video->codecpar, stream.video);
  video->sample_aspect_ratio = video->codecpar->sample_aspect_ratio;
  video->time_base = {1, 90'000};
  if (stream.video.frame_rate > 0) video->avg_frame_rate = av_d2q(stream.video.frame_rate, 100'000);
  if (!stream.audio) return;
  AVStream* audio = avformat_new_stream(context_.get(), nullptr);
  if (audio == nullptr) throw std::bad_alloc();
  set_codec_parameters(*audio->codecpar, *stream.audio);
  audio->time_base = {1, stream.audio->sample_rate};
}

// Encoders keep the headers out of the stream, as files want it; who tunes in later needs them at every key frame.
// FLV has a place of its own for them, and headers of the kind that MP4 has are put in by the muxers themselves.
void PushConnection::begin_headers() {
  const AVCodecParameters& codec = *context_->streams[0]->codecpar;
  if (codec.extradata_size == 0 || is_avcc(codec) || std::string_view(target_.format->name) == "flv") return;
  if (codec.codec_id != AV_CODEC_ID_H264 && codec.codec_id != AV_CODEC_ID_HEVC) return;
  AVBSFContext* filter = nullptr;
  check(av_bsf_alloc(av_bsf_get_by_name("dump_extra"), &filter));
  headers_.reset(filter);
  check(avcodec_parameters_copy(headers_->par_in, &codec));
  check(av_bsf_init(headers_.get()));
}

void PushConnection::greet() {
  LibavOptions options;
  // To the millisecond, as libavformat takes it over, and so that no frame was taken before.
  zero_utc_ = utc_now_ns() / millisecond * millisecond - oldest_frame;
  context_->start_time_realtime = zero_utc_ / 1000;
  options.set("rtsp_transport", "tcp");
  options.set("flvflags", "no_duration_filesize");  // there is no going back to write them
  check(avformat_write_header(context_.get(), options.get()));
}

void PushConnection::send(PushPacket packet) {
  AVPacket& data = *packet.data;
  if (!start_) begin_time(packet);
  if (packet.audio && packet.dts < *start_) return;
  set_times(data, packet);
  if (headers_ && !packet.audio) {
    check(av_bsf_send_packet(headers_.get(), &data));
    check(av_bsf_receive_packet(headers_.get(), &data));
  }
  watch_.allow(patience_);
  check(av_write_frame(context_.get(), &data));
  if (watch_.timed_out()) check(AVERROR(ETIMEDOUT));  // over RTSP, libavformat does not report that a write failed
  if (!packet.audio) check_left_out();
}

// RTP takes JPEG with the standard's tables only; libavformat logs that and leaves the frame out, without an error.
void PushConnection::check_left_out() {
  const bool left_out = context_->streams[0]->codecpar->codec_id == AV_CODEC_ID_MJPEG && !watch_.heard().empty();
  if (left_out) throw PushError(AVERROR_PATCHWELCOME, Remedy::none, watch_.heard());
}

// By RTSP's sender reports frames are shown when they were taken. A receiver that follows them must not think that the
// first ones are older than the stream.
void PushConnection::begin_time(const PushPacket& first) {
  const bool is_rtsp = std::string_view(target_.format->name) == "rtsp";
  if (!is_rtsp) {
    start_ = first.dts;
    return;
  }
  const std::int64_t taken = first.capture_utc - zero_utc_;
  const bool is_known = taken > oldest_frame / 2 && taken < 2 * oldest_frame;
  start_ = first.pts - (is_known ? taken : utc_now_ns() - zero_utc_);
}

void PushConnection::set_times(AVPacket& data, const PushPacket& packet) {
  data.stream_index = packet.audio ? 1 : 0;
  const AVRational time_base = context_->streams[data.stream_index]->time_base;
  std::int64_t& last_dts = last_dts_.at(packet.audio ? 1 : 0);
  const auto ticks = [time_base](std::int64_t ns) { return av_rescale_q(ns, nanoseconds, time_base); };
  data.dts = std::max(ticks(packet.dts - *start_), last_dts + 1);
  data.pts = std::max(ticks(packet.pts - *start_), data.dts);
  data.duration = std::max<std::int64_t>(ticks(packet.duration), 0);
  data.flags = packet.key || packet.audio ? AV_PKT_FLAG_KEY : 0;
  last_dts = data.dts;
}

void PushConnection::check(int code) {
  if (code >= 0) return;
  failed_ = true;
  if (watch_.timed_out()) code = AVERROR(ETIMEDOUT);
  throw PushError(code, wants_credentials(code) ? Remedy::credentials : Remedy::wait, reason(code));
}

std::string PushConnection::reason(int code) const {
  if (watch_.timed_out()) return "it took nothing for " + seconds_text(patience_);
  const std::string heard = watch_.heard();
  return is_vague(code) && !heard.empty() ? heard : av_error_text(code);
}

}  // namespace campipe
