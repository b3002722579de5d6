#include "app/source/packet_router.h"

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "ipc/counter_table.h"
#include "ipc/source_blocks.h"

namespace campipe {

PacketRouter::PacketRouter(CameraContext& camera, const RigPage& page, const IngestEvents& events, PacketClock& clock)
    : camera_(camera),
      clock_(clock),
      outlet_(camera, events.on_feed),
      copies_(camera.start.copies, camera.start.audio, camera.start.config.drop_policy == DropPolicy::block, page,
              {events.on_copy, events.on_audio, [this] { return camera_.stop.beat_or_give_up(); },
               [this](OutputId output) { return outlet_.metadata(output); }}) {}

void PacketRouter::resume_live() {
  copies_.resume(false);
  clock_.begin_live(copies_.end());
}

std::optional<std::int64_t> PacketRouter::resume_file() {
  const auto resume = camera_.start.decode ? camera_.start.resume : copies_.resume_at();
  if (!resume) return resume;
  const bool loop = camera_.start.config.source.loop;
  copies_.resume(!loop);
  if (!loop) return resume;
  clock_.begin_loop_after(*resume, copies_.end());
  return resume;
}

void PacketRouter::begin(const SourceStream& stream) {
  stream_ = &stream;
  copies_.begin(stream);
  outlet_.begin(stream);
}

// Once. What has no reader any more must not be waited for.
void PacketRouter::follow_end_of_decoding() {
  if (!camera_.decoding_end.is_set() || std::exchange(decoding_ended_, true)) return;
  copies_.keep(camera_.decoding_end.outputs());
  camera_.start.decode = camera_.start.on_demand = false;
}

void PacketRouter::video(const AVPacket& packet) {
  follow_end_of_decoding();
  const PacketNote note = clock_.note(packet);
  const auto correction =
      copies_.video(packet, clock_.source_clock(), {note.arrival, note.capture_utc, note.capture_clock});
  if (!camera_.start.decode && correction) clock_.count(*correction);
  if ((packet.flags & AV_PKT_FLAG_CORRUPT) != 0) camera_.source.counters.add(Counter::corrupt_packets);
  outlet_.video(packet, note);
}

// A file's audio is not paced: it is read beside the video, which is. What lies before the video is left out in each
// turn of a loop: it would lie on the end of the turn before.
void PacketRouter::audio(const AVPacket& packet, const ReadAhead::Times& times) {
  follow_end_of_decoding();
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (!camera_.live && av_compare_ts(time, stream_->audio_time_base, stream_->start, stream_->time_base) < 0) return;
  if (copies_.audio(packet, clock_.source_clock(), {times.arrival, times.arrival_utc, CaptureClock::arrival})) return;
  if (const auto more = sound_lines_.pass()) {
    spdlog::warn("{}: its sound becomes another one again and again; what comes within 10 s of that is left out{}",
                 camera_.name(), *more);
  }
}

void PacketRouter::close() {
  copies_.close();
  outlet_.close();
}

// By what the packets say of their times: how far frames have come is not known here.
std::int64_t PacketRouter::end_round(bool gave) {
  const auto packets_end = clock_.packets_end();
  if (!gave || !packets_end || !camera_.start.decode) outlet_.mark(RecordKind::empty);
  if (!camera_.start.decode) return copies_.next_turn(copies_.end());
  outlet_.mark(RecordKind::round);
  const std::int64_t end = packets_end ? *packets_end : clock_.decoding_end().value_or(-1);
  return copies_.next_turn(std::max(end, copies_.end()));
}

}  // namespace campipe
