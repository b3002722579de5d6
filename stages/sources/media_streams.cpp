#include "stages/sources/media_streams.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <new>
#include <span>
#include <vector>

extern "C" {
#include <libavutil/avstring.h>
#include <libavutil/display.h>
}

#include "core/log.h"
#include "core/media_limits.h"
#include "core/orientation.h"
#include "stages/sources/accepted_media.h"
#include "stages/sources/repeated_times.h"
#include "stages/sources/source_config.h"

namespace campipe {
namespace {

constexpr double fastest_rate = 1000;        // frames a second; what is beyond is the unit of its times
constexpr double slowest_rate = 1.0 / 3610;  // an hour; less is no rate that anybody could count on
constexpr int fastest_sound = 768'000;       // samples a second
constexpr int alone = 10;                    // packets of a stream, before another one's

double rate_of(const AVStream& stream) {
  const AVRational rate = stream.avg_frame_rate.num > 0 ? stream.avg_frame_rate : stream.r_frame_rate;
  const double frames = rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0;
  return frames >= slowest_rate && frames <= fastest_rate ? frames : 0;
}

// libavutil returns by how much the frame is turned counterclockwise, if it is not mirrored: that is taken back first.
int rotation_of(const AVStream& stream, const std::string& name) {
  std::size_t size = 0;
  const std::uint8_t* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  if (data == nullptr || size < 9 * sizeof(std::int32_t)) return 0;
  std::array<std::int32_t, 9> matrix{};
  std::memcpy(matrix.data(), data, sizeof matrix);
  const auto product = [&matrix](std::size_t a, std::size_t b) { return double{1} * matrix.at(a) * matrix.at(b); };
  const bool is_mirrored = product(0, 4) < product(1, 3);
  if (is_mirrored) av_display_matrix_flip(matrix.data(), 1, 0);
  const double degrees = av_display_rotation_get(matrix.data());
  if (std::isnan(degrees)) return 0;
  const long clockwise = std::lround(-degrees);
  if (clockwise % 90 != 0) {
    spdlog::warn("'{}' asks for frames turned by {} degrees; only quarter turns are made", name, clockwise);
    return 0;
  }
  return static_cast<int>((clockwise % 360 + 360) % 360) + (is_mirrored ? mirrored : 0);
}

int choose_video(AVFormatContext& input, const SourceConfig& config, const std::string& name) {
  if (!config.stream) {
    const int best = av_find_best_stream(&input, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
    if (best < 0) throw Error("'" + name + "' has no video");
    return best;
  }
  std::vector<int> videos;
  for (unsigned i = 0; i < input.nb_streams; ++i) {
    const AVStream& stream = *input.streams[i];
    const bool cover = (stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
    if (stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO && !cover) videos.push_back(static_cast<int>(i));
  }
  const auto wanted = static_cast<std::size_t>(*config.stream);
  if (wanted < videos.size()) return videos[wanted];
  throw Error("'" + name + "' has no video stream " + std::to_string(*config.stream) + ": it has " +
              std::to_string(videos.size()) + ", counted from 0");
}

// An AudioSpecificConfig that FFmpeg refuses makes a file that players refuse as a whole.
bool has_readable_header(const AVCodecParameters& codec) {
  const AVCodec* decoder = codec.codec_id == AV_CODEC_ID_AAC ? avcodec_find_decoder(codec.codec_id) : nullptr;
  if (decoder == nullptr || codec.extradata_size == 0) return true;
  const AvCodecContext context(avcodec_alloc_context3(decoder));
  if (!context) throw std::bad_alloc();
  return avcodec_parameters_to_context(context.get(), &codec) >= 0 &&
         avcodec_open2(context.get(), decoder, nullptr) >= 0 && context->sample_rate > 0 &&
         context->sample_rate <= fastest_sound && context->ch_layout.nb_channels > 0;
}

// libavformat finds no sound where it does not know how to play it. Empty: there is none at all.
std::string unknown_sound(const AVFormatContext& input, const std::string& name) {
  const std::span<AVStream* const> streams(input.streams, input.nb_streams);
  const auto found =
      std::ranges::find(streams, AVMEDIA_TYPE_AUDIO, [](const AVStream* one) { return one->codecpar->codec_type; });
  if (found == streams.end()) return "";
  const AVCodecID codec = (*found)->codecpar->codec_id;
  return "the sound of '" + name + "' " +
         (codec == AV_CODEC_ID_NONE
              ? std::string("is of a codec that FFmpeg does not know")
              : std::string("(") + avcodec_get_name(codec) + ") does not say its sample rate or channels") +
         "; it goes on without sound";
}

int choose_audio(AVFormatContext& input, const SourceConfig& config, int video, const std::string& name,
                 std::string& remark) {
  if (config.audio == Audio::off) return -1;
  const int best = av_find_best_stream(&input, AVMEDIA_TYPE_AUDIO, -1, video, nullptr, 0);
  if (best < 0) {
    remark = unknown_sound(input, name);
    return -1;
  }
  const AVCodecParameters& codec = *input.streams[best]->codecpar;
  if (const auto problem = refused_codec_header(codec.extradata_size)) {
    remark = "the sound of '" + name + "' " + *problem + "; it goes on without sound";
    return -1;
  }
  if (!has_readable_header(codec)) {
    remark = "the sound of '" + name + "' has a header that FFmpeg cannot read; it goes on without sound";
    return -1;
  }
  const bool is_rtp = av_match_name(input.iformat->name, "rtsp,sdp,rtp") != 0;
  if (is_rtp && codec.codec_id == AV_CODEC_ID_AAC && codec.extradata_size == 0) {
    remark = "the sound of '" + name +
             "' (aac) does not say how it is encoded (config=, in the camera's description): "
             "where its packets do not either, it goes on without sound";
  }
  if (is_accepted_audio(codec.codec_id)) return best;
  remark = "'" + name + "' has sound of the codec '" + avcodec_get_name(codec.codec_id) +
           "', which campipe does not take; it goes on without sound";
  return -1;
}

// As libavformat marks them in its index. What is hidden right behind a shown key frame was shown before it, and
// nothing behind refers to it.
bool hides_references(const AVStream& stream) {
  bool broken = false;        // by a hidden frame, up to the next key frame that is shown
  bool shown_behind = false;  // a frame behind the key frame
  RepeatedTimes times;
  for (int i = 0; i < avformat_index_get_entries_count(&stream); ++i) {
    const AVIndexEntry& entry = *avformat_index_get_entry(const_cast<AVStream*>(&stream), i);
    const bool key = (entry.flags & AVINDEX_KEYFRAME) != 0;
    const bool hidden = !times.is_repeated(entry.timestamp) && (entry.flags & AVINDEX_DISCARD_FRAME) != 0;
    if (key) {
      broken = hidden;
      shown_behind = false;
    } else if (hidden) {
      broken = broken || shown_behind;
    } else if (broken) {
      return true;
    } else {
      shown_behind = true;
    }
  }
  return false;
}

bool is_of(const AVStream& stream, AVMediaType type) {
  const bool cover = (stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
  const AVCodecParameters& codec = *stream.codecpar;
  if (codec.codec_type != type || cover || refused_codec_header(codec.extradata_size)) return false;
  const auto& accepted = type == AVMEDIA_TYPE_VIDEO ? accepted_video() : accepted_audio();
  return std::ranges::find(accepted, codec.codec_id) != accepted.end();
}

const AVProgram* program_of(const AVFormatContext& input, int number) {
  const std::span<AVProgram* const> programs(input.programs, input.nb_programs);
  const auto found = std::ranges::find(programs, number, &AVProgram::id);
  return found != programs.end() ? *found : nullptr;
}

std::span<const unsigned> streams_of(const AVProgram& program) {
  return {program.stream_index, program.nb_stream_indexes};
}

void find_program(AVFormatContext& input, MediaStreams& chosen) {
  const AVProgram* program = av_find_program_from_stream(&input, nullptr, chosen.video);
  if (program == nullptr) return;
  chosen.program = program->id;
  for (const unsigned index : streams_of(*program)) {
    if (static_cast<int>(index) == chosen.video) return;
    if (is_of(*input.streams[index], AVMEDIA_TYPE_VIDEO)) ++chosen.place;
  }
}

// Its streams that are not discarded are fetched.
bool is_hls(const AVFormatContext& input) { return std::strcmp(input.iformat->name, "hls") == 0; }

// Of a file's end libavformat may know streams already, which its programmes do not have yet.
bool may_succeed(const AVFormatContext& input, const MediaStreams& chosen, const AVStream& stream) {
  const AVProgram* program = program_of(input, chosen.program);
  const bool is_media = is_of(stream, AVMEDIA_TYPE_VIDEO) || (chosen.audio >= 0 && is_of(stream, AVMEDIA_TYPE_AUDIO));
  if (program == nullptr || !is_media || is_hls(input)) return false;
  return std::ranges::count(streams_of(*program), static_cast<unsigned>(stream.index)) != 0;
}

// The stream that has taken the place of `before` in the programme; `before`: none has.
int successor_of(int before, const AVFormatContext& input, const AVProgram& program, AVMediaType type, int place) {
  int successor = before;
  for (const unsigned index : streams_of(program)) {
    if (static_cast<int>(index) == before) return before;
    if (index >= input.nb_streams || !is_of(*input.streams[index], type)) continue;
    if (place >= 0) successor = static_cast<int>(index);
    --place;
  }
  return successor;
}

// In place of another one, whose times go on. The one before is still read: it may come back.
void choose_video(const AVFormatContext& input, MediaStreams& streams, int index) {
  AVStream& stream = *input.streams[index];
  SourceStream& description = streams.description;
  stream.discard = AVDISCARD_DEFAULT;
  streams.before = streams.video;
  streams.video = index;
  streams.others = 0;
  description.codec = stream.codecpar;
  ++description.serial;
  description.decoder = avcodec_get_name(stream.codecpar->codec_id);
  description.start = av_rescale_q(description.start, description.time_base, stream.time_base);
  description.time_base = stream.time_base;
}

// libavformat has not analyzed it, and knows no times of frames but the first in each of its packets, unless it is told
// how long they are.
void choose_audio(const AVFormatContext& input, MediaStreams& streams, int index) {
  AVStream& stream = *input.streams[index];
  const AVCodecParameters& before = *streams.description.audio;
  AVCodecParameters& codec = *stream.codecpar;
  if (codec.codec_id == before.codec_id && codec.sample_rate <= 0) {
    codec.sample_rate = before.sample_rate;
    codec.frame_size = before.frame_size;
    codec.profile = before.profile;
    av_check(av_channel_layout_copy(&codec.ch_layout, &before.ch_layout), "the sound's channels");
  }
  stream.discard = AVDISCARD_DEFAULT;
  streams.audio = index;
  streams.description.audio = &codec;
  streams.description.audio_time_base = stream.time_base;
}

}  // namespace

void follow_program(const AVFormatContext& input, MediaStreams& streams, const AVPacket& packet) {
  const AVProgram* program = program_of(input, streams.program);
  const bool may_change = program != nullptr || (input.iformat->flags & AVFMT_TS_DISCONT) != 0;
  if (!may_change || packet.stream_index < 0) return;
  const int index = packet.stream_index;
  int video = streams.video;
  int audio = streams.audio;
  if (program != nullptr) {
    video = successor_of(video, input, *program, AVMEDIA_TYPE_VIDEO, streams.place);
    if (audio >= 0) audio = successor_of(audio, input, *program, AVMEDIA_TYPE_AUDIO, 0);
  }
  const AVStream& stream = *input.streams[index];
  const bool is_video = is_of(stream, AVMEDIA_TYPE_VIDEO);
  if (is_video) streams.others = index == streams.video ? 0 : streams.others + 1;
  if (index == streams.video) return;  // what there was of it before it moved
  // The demuxer of HLS lists all that its pieces have had.
  const bool in_hls = is_hls(input);
  const bool came_up = std::max({index, video, audio}) >= streams.known && (packet.flags & AV_PKT_FLAG_KEY) != 0;
  if (came_up && is_video && (in_hls || streams.others >= alone)) video = index;
  if (came_up && in_hls && audio >= 0 && is_of(stream, AVMEDIA_TYPE_AUDIO)) audio = index;
  if (video != streams.video) choose_video(input, streams, video);
  if (audio != streams.audio) choose_audio(input, streams, audio);
}

MediaStreams choose_streams(AVFormatContext& input, const SourceConfig& config, const std::string& name) {
  MediaStreams chosen;
  chosen.video = choose_video(input, config, name);
  require_accepted_video(*input.streams[chosen.video]->codecpar, name);
  chosen.audio = choose_audio(input, config, chosen.video, name, chosen.remark);
  find_program(input, chosen);
  for (unsigned i = 0; i < input.nb_streams; ++i) {
    const int index = static_cast<int>(i);
    const bool is_chosen = index == chosen.video || index == chosen.audio;
    if (!is_chosen && !may_succeed(input, chosen, *input.streams[i])) input.streams[i]->discard = AVDISCARD_ALL;
  }
  const AVStream& video = *input.streams[chosen.video];
  SourceStream& description = chosen.description;
  description.codec = video.codecpar;
  description.time_base = video.time_base;
  description.start = video.start_time != AV_NOPTS_VALUE ? video.start_time : 0;
  description.frame_rate = rate_of(video);
  description.decoder = avcodec_get_name(video.codecpar->codec_id);
  description.discontinuous = (input.iformat->flags & AVFMT_TS_DISCONT) != 0;
  description.rotation = rotation_of(video, name);
  description.hides_references = hides_references(video);
  chosen.known = static_cast<int>(input.nb_streams);
  if (chosen.audio >= 0) {
    description.audio = input.streams[chosen.audio]->codecpar;
    description.audio_time_base = input.streams[chosen.audio]->time_base;
  }
  return chosen;
}

void begin_time(SourceStream& description, AVPacket& first) {
  std::int64_t time = first.pts != AV_NOPTS_VALUE ? first.pts : first.dts;
  if (time == AV_NOPTS_VALUE && description.frame_rate > 0) {
    time = description.start - std::llround(1 / (description.frame_rate * av_q2d(description.time_base)));
    first.pts = first.dts = time;
  }
  if (time != AV_NOPTS_VALUE) description.start = time;
}

}  // namespace campipe
