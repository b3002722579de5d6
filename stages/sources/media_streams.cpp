#include "stages/sources/media_streams.h"

#include <cmath>
#include <vector>

extern "C" {
#include <libavutil/display.h>
}

#include "core/log.h"
#include "stages/sources/accepted_media.h"
#include "stages/sources/source_config.h"

namespace campipe {
namespace {

constexpr double fastest_rate = 1000;        // frames a second; what is beyond is the unit of its times
constexpr double slowest_rate = 1.0 / 3610;  // an hour; less is no rate that anybody could count on

double rate_of(const AVStream& stream) {
  const AVRational rate = stream.avg_frame_rate.num > 0 ? stream.avg_frame_rate : stream.r_frame_rate;
  const double frames = rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0;
  return frames >= slowest_rate && frames <= fastest_rate ? frames : 0;
}

// libavutil returns by how much the frame is turned counterclockwise.
int rotation_of(const AVStream& stream, const std::string& name) {
  std::size_t size = 0;
  const std::uint8_t* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  if (data == nullptr || size < 9 * sizeof(std::int32_t)) return 0;
  const double degrees = av_display_rotation_get(static_cast<const std::int32_t*>(static_cast<const void*>(data)));
  if (std::isnan(degrees)) return 0;
  const long clockwise = std::lround(-degrees);
  if (clockwise % 90 != 0) {
    spdlog::warn("'{}' asks for frames turned by {} degrees; only quarter turns are made", name, clockwise);
    return 0;
  }
  return static_cast<int>((clockwise % 360 + 360) % 360);
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

int choose_audio(AVFormatContext& input, const SourceConfig& config, int video, const std::string& name,
                 std::string& remark) {
  if (config.audio == Audio::off) return -1;
  const int best = av_find_best_stream(&input, AVMEDIA_TYPE_AUDIO, -1, video, nullptr, 0);
  if (best < 0) return -1;
  const AVCodecParameters& codec = *input.streams[best]->codecpar;
  if (codec.codec_id == AV_CODEC_ID_NONE || codec.sample_rate <= 0) return -1;
  if (is_accepted_audio(codec.codec_id)) return best;
  remark = "'" + name + "' has sound of the codec '" + avcodec_get_name(codec.codec_id) +
           "', which campipe does not take; it goes on without sound";
  return -1;
}

}  // namespace

MediaStreams choose_streams(AVFormatContext& input, const SourceConfig& config, const std::string& name) {
  MediaStreams chosen;
  chosen.video = choose_video(input, config, name);
  require_accepted_video(*input.streams[chosen.video]->codecpar, name);
  chosen.audio = choose_audio(input, config, chosen.video, name, chosen.remark);
  for (unsigned i = 0; i < input.nb_streams; ++i) {
    const int index = static_cast<int>(i);
    if (index != chosen.video && index != chosen.audio) input.streams[i]->discard = AVDISCARD_ALL;
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
  if (chosen.audio >= 0) {
    description.audio = input.streams[chosen.audio]->codecpar;
    description.audio_time_base = input.streams[chosen.audio]->time_base;
  }
  return chosen;
}

}  // namespace campipe
