#include "stages/sinks/muxer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>
#include <string>
#include <utility>

#include "core/libav_options.h"
#include "core/log.h"
#include "core/orientation.h"
#include "stages/sinks/codec_parameters.h"
#include "stages/sinks/file_duration.h"
#include "stages/sinks/file_index.h"
#include "stages/sinks/producer_time.h"
#include "stages/sinks/rotation.h"
#include "stages/sinks/sample_data.h"
#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace {

constexpr AVRational mp4_time_base{1, 90'000};

const char* muxer_name(Container container) { return container == Container::mp4 ? "mp4" : "matroska"; }

AVFormatContext* open_context(Container container) {
  AVFormatContext* context = nullptr;
  const char* name = muxer_name(container);
  av_check(avformat_alloc_output_context2(&context, nullptr, name, nullptr), name);
  return context;
}

// Apple's players take HEVC under this name only.
void name_for_mp4(AVCodecParameters& codec) {
  if (codec.codec_id == AV_CODEC_ID_HEVC) codec.codec_tag = MKTAG('h', 'v', 'c', '1');
}

void check_can_hold(Container container, const AVFormatContext& context, AVCodecID codec) {
  if (avformat_query_codec(context.oformat, codec, FF_COMPLIANCE_NORMAL) == 1) return;
  const bool mp4 = container == Container::mp4;
  const AVOutputFormat* matroska = av_guess_format(muxer_name(Container::mkv), nullptr, nullptr);
  const bool other_can = mp4 && avformat_query_codec(matroska, codec, FF_COMPLIANCE_NORMAL) == 1;
  throw Error("a file that ends in " + std::string(mp4 ? ".mp4" : ".mkv") + " cannot hold " + avcodec_get_name(codec) +
              (other_can ? "; one that ends in .mkv can" : "; encode it with another codec than `copy`"));
}

void add_track(AVFormatContext& context, Container container, const StreamParameters& parameters) {
  AVStream* track = avformat_new_stream(&context, nullptr);
  if (track == nullptr) throw std::bad_alloc();
  set_codec_parameters(*track->codecpar, parameters);
  check_can_hold(container, context, track->codecpar->codec_id);
  if (container == Container::mp4) name_for_mp4(*track->codecpar);
  track->sample_aspect_ratio = track->codecpar->sample_aspect_ratio;
  track->time_base = mp4_time_base;  // Matroska makes milliseconds of it
  if (container == Container::mp4) {
    set_rotation(*track, parameters.rotation);
  } else {
    set_spherical_rotation(*track, parameters.rotation);
  }
}

void add_audio_track(AVFormatContext& context, const AudioParameters& parameters) {
  AVStream* track = avformat_new_stream(&context, nullptr);
  if (track == nullptr) throw std::bad_alloc();
  set_codec_parameters(*track->codecpar, parameters);
  track->time_base = {1, parameters.sample_rate};
}

std::string creation_time(std::int64_t utc_ns) {
  const std::time_t seconds = utc_ns / 1'000'000'000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  return std::string(text.data(), size) + "." + std::to_string(1'000'000 + utc_ns / 1000 % 1'000'000).substr(1) + "Z";
}

// The header must not depend on what comes: it is written once, and every fragment must go with it. So no edit
// list, and no shift of times that start below zero; see next_decode_time().
void write_header(AVFormatContext& context, Container container, std::uint64_t fragments, bool turned) {
  context.avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
  LibavOptions options;
  if (container == Container::mp4) {
    options.set("movflags", "empty_moov+default_base_moof+frag_custom+frag_discont");
    options.set("use_editlist", "0");
    options.set("video_track_timescale", mp4_time_base.den);
    options.set("fragment_index", static_cast<std::int64_t>(fragments) + 1);
  } else {
    options.set("cluster_size_limit", std::numeric_limits<int>::max());
    options.set("cluster_time_limit", 30'000);  // block times are 16 bit
    if (turned) options.set("write_crc", 0);    // see make_plane()
  }
  // The muxer of Matroska leaves room for the file's duration only where it finds that it could come back to it.
  context.pb->seekable = container == Container::mkv ? AVIO_SEEKABLE_NORMAL : 0;
  const int status = avformat_write_header(&context, options.get());
  context.pb->seekable = 0;
  av_check(status, "cannot begin the recording");
  avio_flush(context.pb);
}

}  // namespace

std::optional<Container> container_of(std::string_view path) {
  if (path.ends_with(".mp4")) return Container::mp4;
  if (path.ends_with(".mkv")) return Container::mkv;
  return std::nullopt;
}

bool can_hold(Container container, const AudioParameters& audio) {
  const bool mp4 = container == Container::mp4;
  const AVOutputFormat* format = av_guess_format(muxer_name(container), nullptr, nullptr);
  const AVCodecDescriptor* codec = avcodec_descriptor_get_by_name(audio.codec.c_str());
  if (format == nullptr || codec == nullptr || audio.sample_rate <= 0) return false;
  // MP4's header for these is made of their first packets, and ours is written before.
  if (mp4 && (codec->id == AV_CODEC_ID_AC3 || codec->id == AV_CODEC_ID_EAC3)) return false;
  // Its bits come in the other order than Windows has them, and no container takes them so.
  if (codec->id == AV_CODEC_ID_ADPCM_G726LE) return false;
  // What has no name of its own in Matroska goes in as Windows would name it (G.711), and players take it.
  return avformat_query_codec(format, codec->id, mp4 ? FF_COMPLIANCE_NORMAL : FF_COMPLIANCE_UNOFFICIAL) == 1;
}

Muxer::Muxer(Container container, const StreamParameters& parameters, const std::optional<AudioParameters>& audio,
             const RecordPosition& position, const RecordStart& start)
    : container_(container),
      parameters_(parameters),
      start_(start),
      fragments_(position.fragments),
      io_(open_memory_output(written_)),
      video_(container, start.time, [this](AVPacket& packet) { hand_over(packet); }) {
  if (audio) audio_.emplace(container, start.time, *audio, [this](AVPacket& packet) { hand_over(packet); });
  begin_fragment();
  video_.begin(context_->streams[0]->time_base, parameters.frame_rate, position);
  if (audio_) audio_->begin(context_->streams[1]->time_base);
}

// Each fragment has a muxer of its own, whose header is dropped: so the first fragment, the next one and a
// successor's are made alike, and each begins at the time of its first packet. A muxer that goes on lets an MP4
// fragment begin where the last one's durations ended, and the duration of its last frame may have been a guess.
void Muxer::begin_fragment() {
  context_.reset(open_context(container_));
  context_->pb = io_.get();
  if (start_.utc > 0) {
    av_dict_set(&context_->metadata, "creation_time", creation_time(start_.utc).c_str(), 0);
  }
  add_track(*context_, container_, parameters_);
  if (audio_) add_audio_track(*context_, audio_->parameters());
  const bool turned = turn_of(parameters_.rotation) != 0;
  write_header(*context_, container_, fragments_, turned);
  header_ = std::exchange(written_, {});
  if (turned && container_ == Container::mkv) make_plane(header_);
  reserve_duration(container_, header_);
  reserve_index(container_, header_);
}

void Muxer::write(const PacketView& packet) {
  if (!makes_sample(parameters_.codec, parameters_.extradata, packet.data)) {
    ++left_out_;
    return report_left_out("there is no frame in it");
  }
  if (!context_) begin_fragment();
  empty_ = false;
  if (!first_.shown && first_.taken_utc == 0) first_.taken_utc = packet.times.capture_utc;
  video_.write(packet);
}

void Muxer::write_audio(const PacketView& packet) {
  if (!audio_) return;
  if (!context_) begin_fragment();
  empty_ = false;
  audio_->write(packet);
}

// What a camera sends may be damaged in such a way that the muxer does not take it: it is left out.
void Muxer::hand_over(AVPacket& packet) {
  const bool of_video = packet.stream_index == 0;
  const bool is_first = of_video && !first_.shown;
  const std::int64_t shown = packet.pts;
  const int status = av_write_frame(context_.get(), &packet);
  av_packet_unref(&packet);
  if (is_first && status >= 0) first_.shown = shown;
  if (is_first && status < 0) first_.taken_utc = First::lost;
  if (status == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (status >= 0) return;
  if (of_video) ++left_out_;
  report_left_out(av_error_text(status));
}

void Muxer::report_left_out(const std::string& why) {
  if (std::exchange(reported_left_out_, true)) return;
  spdlog::warn("a damaged packet is left out of a recording: {}", why);
}

std::vector<std::uint8_t> Muxer::end_fragment(std::optional<std::int64_t> next_dts,
                                              std::optional<std::int64_t> file_end) {
  if (empty_) return {};
  video_.end(next_dts);
  if (audio_) audio_->end(file_end);
  // Matroska's muxer keeps the newest packet of audio back until this is called at the end.
  const bool mp4 = container_ == Container::mp4;
  av_check(mp4 ? av_write_frame(context_.get(), nullptr) : av_write_trailer(context_.get()), "cannot end a fragment");
  avio_flush(io_.get());
  context_.reset();
  ++fragments_;
  empty_ = true;
  const First first = std::exchange(first_, {});
  std::vector<std::uint8_t> fragment = std::exchange(written_, {});
  if (mp4 && !fragment.empty() && first.shown && first.taken_utc > 0) {
    const auto box = producer_time_box(1, first.taken_utc, *first.shown);
    fragment.insert(fragment.begin(), box.begin(), box.end());
  }
  return fragment;
}

}  // namespace campipe
