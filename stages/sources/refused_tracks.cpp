#include "stages/sources/refused_tracks.h"

#include <algorithm>

#include "stages/sources/source_config.h"

namespace campipe {

RtspDialogue::Rules dialogue_rules(const SourceConfig& config, RtspTransport transport) {
  return {.login = login_of(config.url),
          .with_audio = config.audio == Audio::copy,
          .video = config.stream,
          .tries_tcp = transport == RtspTransport::automatic};
}

std::string leave_out(AVFormatContext& input, const std::vector<RtspDialogue::LeftOut>& tracks,
                      const std::string& shown) {
  std::string remark;
  for (const RtspDialogue::LeftOut& track : tracks) {
    const RtspDialogue::Refusal& why = track.why;
    remark += (remark.empty() ? shown + " is used without its " : ", and without its ") + why.track->text() +
              ": it answers SETUP of that with " + std::to_string(why.status) + " " + why.reason;
    for (unsigned i = 0; i < input.nb_streams; ++i) {
      AVStream& stream = *input.streams[i];
      if (stream.id != static_cast<int>(track.place)) continue;
      // Else its packets would be waited for.
      stream.codecpar->codec_type = AVMEDIA_TYPE_DATA;
      stream.codecpar->codec_id = AV_CODEC_ID_NONE;
      stream.discard = AVDISCARD_ALL;
    }
  }
  return remark;
}

std::string hung_up_text(const RtspTrack& track, const std::string& shown) {
  return shown + " is used without its " + track.text() + ": it closes the connection at SETUP of that";
}

SourceConfig without_left_out(SourceConfig config, const std::vector<RtspDialogue::LeftOut>& tracks) {
  if (!config.stream) return config;
  const auto wanted = static_cast<std::size_t>(*config.stream);
  const auto is_before = [&](const RtspDialogue::LeftOut& track) {
    return track.why.track->media == "video" && track.video_place < wanted;
  };
  *config.stream -= static_cast<int>(std::ranges::count_if(tracks, is_before));
  return config;
}

}  // namespace campipe
