#include "stages/sources/rtsp_units.h"

#include <cmath>
#include <utility>
#include <vector>

#include "stages/sources/analyzed_units.h"
#include "stages/sources/coded_fragment.h"

namespace campipe {

void RtspUnits::begin(AVFormatContext& input, const MediaStreams& streams, ReadWatch& watch) {
  input_ = &input;
  const SourceStream& description = streams.description;
  // A transport stream's packets have times and markers of their own.
  if (!comes_in_fragments(description.codec->codec_id) || input.nb_programs > 0) return;
  video_ = streams.video;
  audio_ = streams.audio;
  if (description.frame_rate > 0) frame_ = std::llround(1 / (description.frame_rate * av_q2d(description.time_base)));
  units_.emplace(description.codec->codec_id, description.time_base);
  parser_.emplace(*description.codec);
  decode_times_.emplace(description.codec->video_delay, frame_);
  empty_parser(watch);
  if (audio_ >= 0 && needs_sound_frames(description.audio->codec_id))
    sound_.emplace(*description.audio, description.audio_time_base);
}

void RtspUnits::empty_parser(ReadWatch& watch) {
  std::vector<AvPacket> analyzed;
  std::vector<AVPacket*> video;
  input_->flags |= AVFMT_FLAG_NOPARSE;
  watch.refuse_waits(true);
  for (AvPacket packet = make_av_packet(); av_read_frame(input_, packet.get()) >= 0; packet = make_av_packet()) {
    if (packet->stream_index == video_) video.push_back(packet.get());
    analyzed.push_back(std::move(packet));
  }
  watch.refuse_waits(false);
  correct_analyzed(video, marks_.take_timestamps(), frame_, input_->streams[video_]->time_base);
  for (AvPacket& packet : analyzed) {
    if (packet->stream_index == video_ || packet->stream_index == audio_) add(std::move(packet), std::nullopt);
  }
}

int RtspUnits::read(AVPacket& packet) {
  while (ready_.empty()) {
    if (!units_) return av_read_frame(input_, &packet);
    if (failure_ < 0) return failure_;
    marks_.forget_newest();
    AvPacket next = make_av_packet();
    const int code = av_read_frame(input_, next.get());
    if (code == AVERROR(EAGAIN)) return code;
    if (code >= 0) {
      add(std::move(next), marks_.newest());
      continue;
    }
    failure_ = code;
    units_->end();
    take_units();
  }
  av_packet_move_ref(&packet, ready_.front().get());
  ready_.pop_front();
  return 0;
}

void RtspUnits::add(AvPacket packet, const std::optional<RtpMark>& mark) {
  if (packet->stream_index == video_) {
    if (packet->size > 0) units_->add(std::move(packet), mark);
    take_units();
  } else if (packet->stream_index == audio_ && sound_) {
    sound_->add(*packet, [this](AvPacket frame) { ready_.push_back(std::move(frame)); });
  } else {
    ready_.push_back(std::move(packet));
  }
}

void RtspUnits::take_units() {
  while (AvPacket unit = units_->take()) {
    parser_->flag_key(*unit);
    decode_times_->date(*unit, parser_->is_b_frame());
    unit->duration = frame_;
    ready_.push_back(std::move(unit));
  }
}

}  // namespace campipe
