#include "app/master/packet_router.h"

#include <algorithm>

#include "core/log.h"

namespace campipe {

PacketRouter::PacketRouter(CameraContext& camera, const RigPage& page, const IngestEvents& events, PacketClock& clock,
                           FrameRings& rings)
    : camera_(camera),
      clock_(clock),
      rings_(rings),
      motion_(camera, page, clock),
      copies_(camera.start.copies, camera.start.audio, camera.start.config.drop_policy == DropPolicy::block, page,
              {events.on_copy, events.on_audio, [this] { return camera_.stop.beat_or_give_up(); },
               [this](OutputId output) { return motion_.metadata(output); }}),
      frames_(camera, clock, rings,
              [this](const FrameRingMemory& ring, const DecodedFrame& frame) {
                if (!frames_.on_hardware()) motion_.look(ring, frame);
              }),
      on_demand_(camera, page, frames_) {}

void PacketRouter::resume_live() {
  copies_.resume(false);
  clock_.begin_live(copies_.end());
}

std::optional<std::int64_t> PacketRouter::resume_file() {
  const auto resume = camera_.start.decode ? camera_.start.resume : copies_.resume_at();
  if (!resume) return resume;
  const bool loop = camera_.start.config.source.loop;
  copies_.resume(!loop);
  if (loop) clock_.begin_loop_after(*resume, copies_.end());
  return resume;
}

// The CPU cannot look at frames in a GPU's memory.
void PacketRouter::begin(const SourceStream& stream) {
  stream_ = &stream;
  if (camera_.start.decode) frames_.begin(stream);
  copies_.begin(stream);
  motion_.begin(stream, camera_.start.decode && !frames_.on_hardware());
}

void PacketRouter::video(const AVPacket& packet) {
  if ((packet.flags & AV_PKT_FLAG_CORRUPT) != 0) frames_.count_corrupt(packet.pos);
  const auto correction = copies_.video(packet, clock_.source_clock(), clock_.note(packet));
  motion_.take(packet);
  if (camera_.start.decode) return frames_.take(packet);
  if (correction) clock_.count(*correction);
  on_demand_.take(packet, *stream_);
}

// A file's audio is not paced: it is read beside the video, which is. What lies before the video is left out in each
// turn of a loop: it would lie on the end of the turn before.
void PacketRouter::audio(const AVPacket& packet, const ReadAhead::Times& times) {
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (!camera_.live && av_compare_ts(time, stream_->audio_time_base, stream_->start, stream_->time_base) < 0) return;
  if (copies_.audio(packet, clock_.source_clock(), {times.arrival, times.arrival_utc, CaptureClock::arrival})) return;
  if (const auto more = sound_lines_.pass()) {
    spdlog::warn("{}: its sound becomes another one again and again; what comes within 10 s of that is left out{}",
                 camera_.name(), *more);
  }
}

void PacketRouter::try_to_decode(const std::function<void()>& work) {
  if (camera_.start.decode) return work();
  on_demand_.attempt(work);
}

void PacketRouter::drain() {
  try_to_decode([this] { frames_.drain(); });
}

void PacketRouter::empty() {
  try_to_decode([this] { frames_.empty(); });
}

void PacketRouter::disconnect() {
  frames_.close();
  if (!camera_.start.decode) frames_.end();
}

void PacketRouter::close() {
  copies_.close();
  frames_.close();
  motion_.end();
}

std::optional<std::int64_t> PacketRouter::given() const {
  const std::int64_t frames = static_cast<std::int64_t>(rings_.published() + frames_.left_out());
  if (camera_.start.decode) return frames > 0 ? std::optional(frames) : std::nullopt;
  return copies_.end() >= 0 ? std::optional(copies_.end()) : std::nullopt;
}

std::int64_t PacketRouter::end_round(bool gave) {
  if (!camera_.start.decode) {
    empty();
    return copies_.next_turn(copies_.end());
  }
  const auto packets_end = clock_.packets_end();
  const bool goes_on = gave && packets_end && frames_.may_begin_again();
  if (!goes_on) empty();
  std::int64_t end = goes_on ? *packets_end : clock_.frames_end();
  if (frames_.is_off()) end = std::max(end, clock_.decoding_end().value_or(-1));  // no frame has come of this round
  return copies_.next_turn(std::max(end, copies_.end()));
}

}  // namespace campipe
