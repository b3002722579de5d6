#include "stages/sources/rtsp_units.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/nal_units.h"
#include "core/reorder_depth.h"
#include "core/start_codes.h"
#include "stages/sources/analyzed_units.h"
#include "stages/sources/coded_fragment.h"

namespace campipe {

void RtspUnits::begin(AVFormatContext& input, const MediaStreams& streams, ReadWatch& watch) {
  input_ = &input;
  // A transport stream's packets have times and markers of their own.
  if (input.nb_programs > 0) return;
  const SourceStream& description = streams.description;
  video_ = streams.video;
  audio_ = streams.audio;
  if (description.frame_rate > 0) frame_ = std::llround(1 / (description.frame_rate * av_q2d(description.time_base)));
  if (comes_in_fragments(description.codec->codec_id)) {
    units_.emplace(description.codec->codec_id, description.time_base);
    parser_.emplace(*description.codec);
    decode_times_.emplace(description.codec->video_delay, frame_);
  }
  take_analyzed(watch);
  if (units_ && audio_ >= 0 && needs_sound_frames(description.audio->codec_id))
    sound_.emplace(*description.audio, description.audio_time_base);
}

void RtspUnits::take_analyzed(ReadWatch& watch) {
  struct Analyzed {
    AvPacket packet;
    std::optional<RtpMark> mark;
  };
  std::vector<Analyzed> analyzed;
  if (units_) input_->flags |= AVFMT_FLAG_NOPARSE;
  watch.refuse_waits(true);
  for (AvPacket packet = make_av_packet(); av_read_frame(input_, packet.get()) >= 0; packet = make_av_packet()) {
    if (packet->stream_index == video_ || packet->stream_index == audio_) analyzed.push_back({std::move(packet), {}});
  }
  watch.refuse_waits(false);
  std::vector<AVPacket*> video;
  std::vector<AVPacket*> audio;
  for (const Analyzed& one : analyzed) (one.packet->stream_index == video_ ? video : audio).push_back(one.packet.get());
  const auto flows = marks_.take_flows();
  const std::vector<RtpMark> video_marks = find_marks(video, flows, frame_, input_->streams[video_]->time_base);
  std::vector<RtpMark> audio_marks;
  if (!audio.empty()) audio_marks = find_marks_of_sound(audio, flows, video_marks, input_->streams[audio_]->time_base);
  if (units_) correct_analyzed(video, video_marks, frame_, input_->streams[video_]->time_base);
  auto of_video = video_marks.begin();
  auto of_audio = audio_marks.begin();
  for (Analyzed& one : analyzed) {
    if (one.packet->stream_index == video_ && of_video != video_marks.end()) one.mark = *of_video++;
    if (one.packet->stream_index == audio_ && of_audio != audio_marks.end()) one.mark = *of_audio++;
  }
  for (Analyzed& one : analyzed) {
    const auto received = one.mark ? std::optional(one.mark->received) : std::nullopt;
    add(std::move(one.packet), one.mark, received);
  }
  // Frames were made later than they came, behind the sound of that time.
  if (std::ranges::all_of(ready_, [](const Ready& ready) { return ready.received.has_value(); }))
    std::ranges::stable_sort(ready_, {}, &Ready::received);
}

int RtspUnits::read(AVPacket& packet) {
  while (ready_.empty()) {
    if (failure_ < 0) return failure_;
    marks_.forget_newest();
    AvPacket next = make_av_packet();
    const int code = av_read_frame(input_, next.get());
    if (code >= 0) {
      const auto& mark = marks_.newest();
      add(std::move(next), mark, mark ? mark->received : now_ns());
      continue;
    }
    if (code == AVERROR(EAGAIN) || !units_) return code;
    failure_ = code;
    units_->end();
    take_units();
  }
  av_packet_move_ref(&packet, ready_.front().packet.get());
  received_ = ready_.front().received;
  ready_.pop_front();
  return 0;
}

void RtspUnits::add(AvPacket packet, const std::optional<RtpMark>& mark, std::optional<std::int64_t> received) {
  if (units_ && packet->stream_index == video_) {
    if (packet->size > 0) units_->add(std::move(packet), mark, received);
    take_units();
  } else if (packet->stream_index == audio_ && sound_) {
    sound_->add(*packet, [&](AvPacket frame) { ready_.push_back({std::move(frame), received}); });
  } else {
    ready_.push_back({std::move(packet), received});
  }
}

// With another set of its sequence a stream may have frames in another order.
void RtspUnits::follow_sets(const AVPacket& unit) {
  const AVCodecParameters& codec = *input_->streams[video_]->codecpar;
  const bool h264 = codec.codec_id == AV_CODEC_ID_H264;
  if ((!h264 && codec.codec_id != AV_CODEC_ID_HEVC) || (unit.flags & AV_PKT_FLAG_KEY) == 0) return;
  std::vector<std::uint8_t> sets;  // with what a decoder needs beside it
  std::vector<std::uint8_t> sequence;
  each_nal_unit(codec, unit, [&](std::span<const std::uint8_t> rest) {
    const auto next = std::ranges::search(rest, start_code);
    std::span<const std::uint8_t> found(rest.begin(), next.begin());
    while (!found.empty() && found.back() == 0) found = found.first(found.size() - 1);
    if (found.empty()) return true;
    const unsigned type = h264 ? found[0] & 31U : found[0] >> 1U & 63U;
    const bool is_sequence = type == (h264 ? 7 : 33);
    const bool is_set = is_sequence || type == (h264 ? 8 : 32) || (!h264 && type == 34);
    if (is_sequence) sequence.assign(found.begin(), found.end());
    if (is_set) {
      sets.insert(sets.end(), start_code.begin(), start_code.end());
      sets.insert(sets.end(), found.begin(), found.end());
    }
    return h264 ? type == 0 || type > 5 : type >= 32;
  });
  if (sequence.empty() || sequence == sequence_) return;
  if (!std::exchange(sequence_, std::move(sequence)).empty()) {
    if (const auto depth = reorder_depth(codec.codec_id, sets)) decode_times_->change_delay(*depth);
  }
}

void RtspUnits::take_units() {
  while (auto unit = units_->take()) {
    parser_->flag_key(*unit->packet);
    follow_sets(*unit->packet);
    decode_times_->date(*unit->packet, parser_->is_b_frame());
    unit->packet->duration = frame_;
    ready_.push_back({std::move(unit->packet), unit->received});
  }
}

}  // namespace campipe
