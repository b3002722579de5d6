#include "stages/sources/stream_source.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <thread>

#include "core/c_callback.h"
#include "core/libav_log.h"
#include "core/log.h"
#include "core/name_lookup.h"
#include "stages/sources/accepted_media.h"
#include "stages/sources/capture_clock.h"
#include "stages/sources/http_input.h"
#include "stages/sources/http_pieces.h"
#include "stages/sources/jpeg_size.h"
#include "stages/sources/live_options.h"
#include "stages/sources/many_units.h"
#include "stages/sources/media_streams.h"
#include "stages/sources/read_watch.h"
#include "stages/sources/receive_limit.h"
#include "stages/sources/refused_tracks.h"
#include "stages/sources/repeated_times.h"
#include "stages/sources/rtsp_dialogue.h"
#include "stages/sources/rtsp_units.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_errors.h"
#include "stages/sources/source_kind.h"
#include "stages/sources/source_peers.h"
#include "stages/sources/tls_tunnel.h"
#include "stages/sources/ts_units.h"

namespace campipe {
namespace {

using Kind = SourceError::Kind;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr auto first_udp_packet = seconds(3);  // before RTSP goes on with TCP, where it may
constexpr auto longest_analysis = seconds(5);  // of the stream; most are known after the first key frame
constexpr int frames_for_rate = 8;             // that show the frame rate, where nothing else does
constexpr int most_streams = 256;              // of video and sound that one source has
constexpr int most_rtsp_streams = 32;
constexpr auto closing_time = milliseconds(500);  // for RTSP's good-bye
constexpr auto capture_asking = milliseconds(2);  // between looks for a frame of a capture device
constexpr AVRational arrival_base{1, 1'000'000};
// What is received before there is a frame: a large key frame, or the index of a file of a day.
constexpr std::size_t most_for_frame = std::size_t{32} << 20;  // bytes
constexpr std::size_t most_for_file = std::size_t{64} << 20;
constexpr std::size_t longest_answer = std::size_t{32} << 10;  // of RTSP: the description is the longest

// More fields and functions than a class should have: it is the life of one AVFormatContext, which libav's callbacks
// reach through one pointer. What stands on its own is in the classes that it uses.
class StreamSource final : public Source {
 public:
  StreamSource(const SourceConfig& config, const Interrupt& interrupt, const StreamRules& rules)
      : config_(config), rules_(rules), shown_(shown_url(config)), watch_(interrupt) {
    const ReceiveLimit::Use use(received_);
    const SourcePeers::Use with_peers(peers_);
    const RtspDialogue::Use in_dialogue(dialogue_);
    watch_.allow(config.read_timeout, config.read_timeout);
    watch_.end_when([this] { return strayed(); });
    resolve();
    if (through_tls()) {
      open_tunnel();
      open(RtspTransport::tcp);
    } else if (!is_rtsp() || config.rtsp_transport != RtspTransport::automatic) {
      open(config.rtsp_transport);
    } else if (!open_over_udp()) {
      open(RtspTransport::tcp);
    }
  }

  ~StreamSource() override {
    watch_.close_within(closing_time);
    const RtspDialogue::Use in_dialogue(dialogue_);
    input_.reset();  // RTSP's good-bye needs its login, too
  }

  const SourceStream& stream() const override { return streams_.description; }
  std::string remark() const override { return remark_; }

  ReadResult read(AVPacket& packet) override {
    if (first_->data != nullptr) {
      av_packet_move_ref(&packet, first_.get());
      return ReadResult::packet;
    }
    // Only the time that was spent waiting here counts, and all of it since the last frame.
    watch_.allow(config_.read_timeout - waited_, config_.read_timeout);
    const ReceiveLimit::Use use(received_);
    const SourcePeers::Use with_peers(peers_);
    const RtspDialogue::Use in_dialogue(dialogue_);
    const auto begin = Clock::now();
    const int index = read_wanted(packet);
    waited_ += Clock::now() - begin;
    if (index == streams_.audio && index >= 0) return ReadResult::audio;
    if (index == AVERROR_EXIT) return ReadResult::interrupted;
    if (index == AVERROR_EOF) return ReadResult::end;
    waited_ = nanoseconds(0);
    limit_receiving(most_received());
    return ReadResult::packet;
  }

  std::optional<std::int64_t> received() const override { return units_ ? units_->received() : std::nullopt; }

  void rewind() override { throw Error(shown_ + " cannot be played again: it is live"); }
  void seek(std::int64_t /*pts*/) override { throw Error(shown_ + " has no place to go back to: it is live"); }

 private:
  void resolve() {
    if (can_resolve(address_.host, [this] { return watch_.ask(); })) return;
    if (watch_.interrupted()) throw interrupted_error(shown_);
    throw unknown_name_error(shown_);
  }

  void open_tunnel() {
    const int port = address_.port > 0 ? address_.port : find_source_scheme(address_.scheme)->port;
    tunnel_ = std::make_unique<TlsTunnel>(address_.host, port, config_, shown_, watch_);
  }

  // Or over TCP, where the camera refuses UDP. False: a new connection over TCP is worth trying.
  bool open_over_udp() {
    try {
      open(RtspTransport::automatic);
      return true;
    } catch (const SourceError& error) {
      const bool hopeless = error.kind == Kind::unauthorized || error.kind == Kind::not_found || watch_.timed_out();
      if (hopeless) throw;
      spdlog::debug("{}; over TCP then", error.what());
      return false;
    }
  }

  // Without the sound, of a camera that hangs up where that is to be set up.
  void open(RtspTransport transport) {
    try {
      return open_once(transport);
    } catch (const SourceError&) {
      if (dialogue_.is_control_refused() && !watch_.ask()) return open_with_appended_controls(transport);
      const RtspTrack* track = dialogue_.unanswered_track();
      if (track == nullptr || track->media != "audio" || watch_.ask()) throw;
      hung_up_ = hung_up_text(*track, shown_);
      config_.audio = Audio::off;
      if (tunnel_) open_tunnel();
      open_once(transport);
    }
  }

  // As most clients make them: some cameras know no others.
  void open_with_appended_controls(RtspTransport transport) {
    whole_controls_ = false;
    if (tunnel_) open_tunnel();
    open(transport);
  }

  void open_once(RtspTransport transport) {
    LibavMessages messages = source_messages();
    const LibavCapture capture(messages);
    input_.reset();
    ts_units_.reset();
    if (is_rtsp()) received_.show_to(&units_.emplace().observer());
    limit_receiving(is_rtsp() ? longest_answer : most_received());
    pieces_.restart();
    RtspDialogue::Rules dialogue = dialogue_rules(config_, transport);
    dialogue.whole_controls = whole_controls_;
    dialogue_.restart(std::move(dialogue));
    const bool fall_back = is_rtsp() && transport == RtspTransport::automatic;
    check_opening(open_input(transport), messages);
    remark_ = hung_up_ + leave_out(*input_, dialogue_.left_out(), shown_);
    limit_receiving(most_received());
    if (fall_back) watch_.expect_packets(*input_, std::min<nanoseconds>(first_udp_packet, watch_.left() / 2));
    // Its packets are known from the beginning, and it would be asked for them without a pause.
    announce_jpeg_sizes(*input_, dialogue_);
    if (!is_device()) check_opening(analyze(), messages);
    choose();
    if (units_) units_->begin(*input_, streams_, watch_);
    if (TsUnits::reads(*input_)) ts_units_.emplace(*input_, streams_);
    const int index = read_first();
    watch_.forget_packets();
    if (index >= 0) return;
    if (needs_parts(*input_) && !watch_.ask()) throw needs_parts_error(shown_);
    check_opening(index, messages);
  }

  int analyze() {
    // Frames without times show no rate, and all that is read to find one would have come at one moment.
    if ((input_->iformat->flags & AVFMT_NOTIMESTAMPS) != 0) input_->fps_probe_size = 0;
    if (units_) watch_.bound_analysis(*input_, longest_analysis, [this] { return units_->is_between_packets(); });
    const int code = find_stream_info(*input_);
    watch_.end_analysis();
    return code;
  }

  void check_opening(int code, const LibavMessages& messages) {
    if (watch_.interrupted()) throw interrupted_error(shown_);
    throw_if_strayed();
    if (code >= 0 && !watch_.timed_out() && !watch_.no_packets()) return;
    const bool has_video = input_ && has_video_packets(*input_);
    const SourceError error = watch_.timed_out() && has_video ? why_not_begun() : why_not_opened(code, messages);
    watch_.forget_packets();
    input_.reset();
    throw error;
  }

  [[nodiscard]] SourceError why_not_begun() const {
    if (is_rtsp() && !knows_video(*input_)) return unknown_codec_error(shown_, dialogue_.video_codec());
    return no_beginning_error(shown_, watch_);
  }

  [[nodiscard]] SourceError why_not_opened(int code, const LibavMessages& messages) const {
    const std::string types = units_ && (watch_.timed_out() || watch_.no_packets()) ? units_->payload_types() : "";
    if (!types.empty()) return other_packets_error(shown_, types, watch_);
    if (is_rtsp()) return rtsp_error(code, shown_, watch_, messages, dialogue_, config_);
    if (is_http()) return http_error(code, shown_, watch_, messages, pieces_, config_);
    return opening_error(code, shown_, watch_, messages, rules_.explain);
  }

  int open_input(RtspTransport transport) {
    AVFormatContext* context = avformat_alloc_context();
    if (context == nullptr) throw std::bad_alloc();
    context->interrupt_callback = watch_.callback();
    context->max_analyze_duration = std::chrono::microseconds(longest_analysis).count();
    context->fps_probe_size = frames_for_rate;
    context->max_streams = is_rtsp() ? most_rtsp_streams : most_streams;
    context->opaque = this;
    open_nested_ = context->io_open;
    context->io_open = c_callback<&StreamSource::open_nested, AVERROR_EXTERNAL>;
    LibavOptions options;
    if (rules_.set_options != nullptr) rules_.set_options(options, config_, transport);
    const AVInputFormat* format = nullptr;
    if (is_device()) {
      // Nothing could interrupt its wait for a frame.
      context->flags |= AVFMT_FLAG_NONBLOCK;
      try {
        format = rules_.device();
      } catch (...) {
        avformat_free_context(context);
        throw;
      }
    } else {
      limit_media(*context, formats_of_streams(), std::string(rules_.protocols));
    }
    opening_ = context;
    // The context is freed on error.
    const int code = avformat_open_input(&context, url().c_str(), format, options.get());
    opening_ = nullptr;
    input_.reset(context);
    return code;
  }

  // RTSP's client goes wherever an answer sends it, which shows in the input's URL alone: it changes that before it
  // connects there.
  bool strayed() {
    const bool checked = opening_ != nullptr && opening_->url != nullptr && is_rtsp();
    if (checked && !config_.allow_redirects && !same_origin(opening_->url, url())) elsewhere_ = opening_->url;
    return failure_ != nullptr || !elsewhere_.empty() || !pieces_.elsewhere().empty() || sends_too_much() ||
           has_too_many_units();
  }
  void throw_if_strayed() {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    for (const std::string& url : {elsewhere_, pieces_.elsewhere()}) {
      if (!url.empty()) throw redirect_error(shown_, url);
    }
    if (has_too_many_units()) throw SourceError(Kind::unsupported, shown_ + " " + too_many_units_text());
    if (sends_too_much()) {
      throw SourceError(Kind::unsupported, shown_ + " sends more than is taken before there is a frame: " +
                                               std::to_string(most_received() >> 20) + " MiB" +
                                               (is_rtsp() ? ", or an answer of 32 KiB" : ""));
    }
  }

  [[nodiscard]] bool is_rtsp() const { return rules_.protocol == StreamRules::Protocol::rtsp; }
  [[nodiscard]] bool is_http() const { return rules_.protocol == StreamRules::Protocol::http; }
  [[nodiscard]] bool is_device() const { return rules_.device != nullptr; }
  [[nodiscard]] bool comes_by_rtp() const { return is_rtsp() || address_.scheme == "rtp"; }
  // What goes through TLS goes through TCP.
  [[nodiscard]] bool through_tls() const { return address_.scheme == "rtsps"; }
  [[nodiscard]] std::size_t most_received() const { return is_http() ? most_for_file : most_for_frame; }
  void limit_receiving(std::size_t at_once) {
    received_.allow(most_received(), at_once);
    position_ = received_so_far();
  }
  [[nodiscard]] bool has_too_many_units() const { return units_ && units_->has_too_many_units(); }
  [[nodiscard]] bool sends_too_much() const {
    return received_.exceeded() || received_so_far() - position_ > static_cast<std::int64_t>(most_received());
  }
  // Of what FFmpeg receives on threads of its own; 0 for other schemes.
  [[nodiscard]] std::int64_t received_so_far() const {
    if (!rules_.received_by_thread) return 0;
    const AVFormatContext* context = opening_ != nullptr ? opening_ : input_.get();
    return context != nullptr && context->pb != nullptr ? context->pb->pos : 0;
  }

  // The source itself, and what it is made of: HLS opens its pieces and keys one by one.
  static int open_nested(AVFormatContext* context, AVIOContext** io, const char* url, int flags,
                         AVDictionary** options) {
    auto& source = *static_cast<StreamSource*>(context->opaque);
    try {
      const AVDictionary* given = options != nullptr ? *options : nullptr;
      if (!source.is_http()) return source.open_nested_(context, io, url, flags, options);
      return source.pieces_.open(*context, io, url, flags, given, source.open_nested_);
    } catch (...) {
      source.failure_ = std::current_exception();  // nothing may leave libav's function
      return AVERROR_EXIT;
    }
  }

  // What libavformat opens: the source itself, or this machine's end of the tunnel to it.
  [[nodiscard]] std::string url() const {
    if (rules_.opened_url != nullptr) return with_small_scheme(rules_.opened_url(config_));
    return with_small_scheme(tunnel_ ? tunnel_->url_for(config_.url) : config_.url);
  }

  void choose() {
    try {
      streams_ = choose_streams(*input_, without_left_out(config_, dialogue_.left_out()), shown_);
      if (!streams_.remark.empty()) remark_ += (remark_.empty() ? "" : "; ") + streams_.remark;
    } catch (const Error& error) {
      throw SourceError(watch_.no_packets() ? Kind::timed_out : Kind::unsupported, error.what());
    }
    SourceStream& description = streams_.description;
    if (avcodec_find_decoder(description.codec->codec_id) == nullptr) {
      throw SourceError(Kind::unsupported, shown_ + " sends video of the codec '" + description.decoder +
                                               "', which FFmpeg cannot decode here");
    }
    by_arrival_ = (input_->iformat->flags & AVFMT_NOTIMESTAMPS) != 0;
    if (by_arrival_) {
      description.time_base = arrival_base;
      description.frame_rate = 0;
    }
    // A file, or a playlist to which nothing is added any more: both say how long they are.
    description.finite = is_http() && input_->duration > 0 && !is_endless_flv(*input_);
    description.in_bursts = is_hls(*input_) || description.finite;
  }

  // Into first_. The index of the video's stream, or an error of libav.
  int read_first() {
    for (;;) {
      const int index = read_packet(*first_);
      if (index != streams_.video && index >= 0) {
        av_packet_unref(first_.get());
        continue;
      }
      if (index >= 0) begin_time(streams_.description, *first_);
      return index;
    }
  }

  int read_transport_stream(AVPacket& packet) {
    const int code = ts_units_->read(packet);
    if (!ts_units_->is_of_another_codec()) return code;
    av_packet_unref(&packet);
    throw SourceError(Kind::lost, shown_ +
                                      " says in its programme map that its video is of another codec now, and is "
                                      "opened anew");
  }

  int read_next(AVPacket& packet) {
    if (ts_units_) return read_transport_stream(packet);
    return units_ ? units_->read(packet) : av_read_frame(input_.get(), &packet);
  }

  // The index of the stream; AVERROR_EXIT, if interrupted; AVERROR_EOF: the end. Throws for all else.
  int read_wanted(AVPacket& packet) {
    const int index = read_packet(packet);
    if (index >= 0) return index;
    if (watch_.interrupted()) return AVERROR_EXIT;
    throw_if_strayed();
    if (index == AVERROR_EOF && !watch_.timed_out() && is_http()) return index;
    throw reading_error(index, shown_, watch_);
  }

  // Of a stream that is wanted.
  int read_packet(AVPacket& packet) {
    for (;;) {
      // Where a wait was broken off libavformat hands out what it still has, and would then go on as if nothing were.
      if (watch_.interrupted() || watch_.timed_out()) return AVERROR_EXIT;
      const int code = read_next(packet);
      if (code == AVERROR(EAGAIN)) {
        if (watch_.ask()) return AVERROR_EXIT;
        // Capture devices alone: libavdevice keeps to itself what could be waited for.
        std::this_thread::sleep_for(capture_asking);
        continue;
      }
      if (code < 0) return code;
      // What RTSP's parser had when it was broken off may be a part of a frame.
      if (is_rtsp() && watch_.interrupted()) {
        av_packet_unref(&packet);
        return AVERROR_EXIT;
      }
      follow_program(*input_, streams_, packet);
      if (packet.stream_index == streams_.video) return finish_video(packet);
      const bool wanted = packet.stream_index == streams_.audio;
      if (wanted) pieces_.tell_new_header(packet, *input_->streams[streams_.audio]->codecpar);
      // Other streams' packets may come without an end.
      const bool over = watch_.ask();
      if (wanted && !over) return packet.stream_index;
      av_packet_unref(&packet);
      if (over) return AVERROR_EXIT;
    }
  }

  int finish_video(AVPacket& packet) {
    AVCodecParameters& codec = *input_->streams[streams_.video]->codecpar;
    if (campipe::has_too_many_units(codec, packet)) {
      av_packet_unref(&packet);
      throw SourceError(Kind::unsupported, shown_ + " " + too_many_units_text());
    }
    pieces_.tell_new_header(packet, codec);
    times_.show(packet);
    if (comes_by_rtp() && codec.codec_id == AV_CODEC_ID_MJPEG && !complete_jpeg_size(packet, codec))
      throw no_size_error(shown_);
    if (by_arrival_) {
      packet.dts = av_rescale_q(now_ns() - opened_, {1, 1'000'000'000}, arrival_base);
      // Frames that are shown in another order than they come in are put right by the decoder.
      packet.pts = streams_.description.codec->video_delay == 0 ? packet.dts : AV_NOPTS_VALUE;
      packet.duration = 0;
    }
    clock_.mend(packet, streams_.description.time_base);
    if (const auto utc = pieces_.time_of(packet, streams_.description.time_base)) set_wall_clock(packet, utc->count());
    return packet.stream_index;
  }

  SourceConfig config_;
  const StreamRules& rules_;
  std::string shown_;
  SourceAddress address_ = split_address(config_.url);
  ReadWatch watch_;
  std::unique_ptr<TlsTunnel> tunnel_;
  ReceiveLimit received_;
  RtspDialogue dialogue_;
  bool whole_controls_ = true;  // RtspDialogue::Rules
  std::string hung_up_;         // a remark: it has no sound therefore
  std::string remark_;
  SourcePeers peers_{[this] { return strayed(); }, config_.allow_redirects};
  std::int64_t position_ = 0;  // of received_so_far(), with the newest frame
  HttpPieces pieces_{config_, shown_};
  HttpPieces::OpenIo open_nested_ = nullptr;
  const AVFormatContext* opening_ = nullptr;  // while it is being opened
  std::exception_ptr failure_;                // in a function that libav called
  std::string elsewhere_;                     // the URL that RTSP leads to, and may not; empty: none
  AvInput input_;
  MediaStreams streams_;
  RepeatedTimes times_;
  std::optional<RtspUnits> units_;   // of RTSP alone
  std::optional<TsUnits> ts_units_;  // of a transport stream alone
  AvPacket first_ = make_av_packet();
  nanoseconds waited_{0};
  bool by_arrival_ = false;  // it has no times
  std::int64_t opened_ = now_ns();
  RtpCaptureClock clock_;
};

}  // namespace

std::unique_ptr<Source> open_stream_source(const SourceConfig& config, const Source::Interrupt& interrupt,
                                           const StreamRules& rules) {
  return std::make_unique<StreamSource>(config, interrupt, rules);
}

}  // namespace campipe
