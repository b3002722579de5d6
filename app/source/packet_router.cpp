#include "app/source/packet_router.h"

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "ipc/counter_table.h"
#include "ipc/source_blocks.h"

namespace campipe {

using Fault = FollowedStream::Fault;

namespace {

constexpr std::int64_t long_without_key_frame = 15'000'000'000;  // ns; the usual longest distance is 10 s

}  // namespace

PacketRouter::PacketRouter(CameraContext& camera, const RigPage& page, const IngestEvents& events, PacketClock& clock)
    : camera_(camera),
      clock_(clock),
      outlet_(camera, events.on_feed),
      followed_(camera.name(), !camera.start.copies.empty()),
      on_changed_(events.on_opened),
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
  clock_.begin_loop_after(*resume, copies_.next_turn(copies_.end()));
  return resume;
}

void PacketRouter::begin(const SourceStream& stream) {
  has_key_frame_ = false;
  first_arrival_.reset();
  missing_.clear();
  followed_.begin(stream);
  copies_.begin(followed_.stream());
  outlet_.begin(followed_.stream());
}

void PacketRouter::warn_of(FollowedStream::Fault fault) {
  if (camera_.start.copies.empty() || fault == Fault::none || fault == Fault::no_key_frame) return;
  const auto more = undecodable_lines_.pass();
  if (!more) return;
  if (fault == Fault::other_sets) {
    spdlog::warn(
        "{}: its parameter sets change between key frames: who begins with a key frame could not show what comes "
        "behind "
        "that, and copies are without it up to the next key frame; let the camera send a key frame with them{}",
        camera_.name(), *more);
    return;
  }
  const char* const what =
      fault == Fault::no_sets  ? "a frame refers to parameter sets that never came"
      : fault == Fault::broken ? "a frame's parts are cut off or empty"
      : fault == Fault::unreadable_sets
          ? "a key frame has parameter sets that FFmpeg cannot read, or of a size that is not taken"
          : "a key frame cannot be decoded with the parameter sets that "
            "were announced, and none come with the frames";
  spdlog::warn(
      "{}: {}: no player can show such frames, and copies are without them; look at the camera's settings, or "
      "restart it{}",
      camera_.name(), what, *more);
}

void PacketRouter::await_key_frame(const AVPacket& packet, std::int64_t arrival) {
  if (has_key_frame_) return;
  if ((packet.flags & AV_PKT_FLAG_KEY) != 0 || followed_.stream().codec == nullptr) {
    has_key_frame_ = true;
    missing_.clear();
    return;
  }
  const std::int64_t first = first_arrival_.value_or(arrival);
  first_arrival_ = first;
  if (arrival - first < long_without_key_frame || !missing_.empty()) return;
  missing_ = "it has sent frames for " + std::to_string(long_without_key_frame / 1'000'000'000) +
             " s, and no key frame: nothing of it can be decoded, recorded or shown before one comes; let the camera "
             "send one every few seconds (its interval of I-frames, without intra refresh)";
  if (!camera_.live) spdlog::warn("{}: {}", camera_.name(), missing_);  // a live source's is reported
}

void PacketRouter::follow_stream(const AVPacket& packet) {
  const FollowedStream::Change change = followed_.take(packet);
  warn_of(followed_.fault());
  if (change == FollowedStream::Change::none) return;
  on_changed_(known_stream(followed_.stream()));
  // Where it is no longer what the camera's configuration is for, that is decided anew.
  if (camera_.live && camera_.start.undecided && !fits(camera_.start.config, sent_stream(followed_.stream(), nullptr)))
    throw SourceError(SourceError::Kind::lost, "its video is another one now (" + followed_.stream().decoder + ")");
  if (change == FollowedStream::Change::headers) {
    copies_.change_headers();
    outlet_.change_headers();
  } else {
    copies_.change_stream();
    outlet_.change_stream();
  }
}

// Once. What has no reader any more must not be waited for.
void PacketRouter::follow_end_of_decoding() {
  if (!camera_.decoding_end.is_set() || std::exchange(decoding_ended_, true)) return;
  copies_.keep(camera_.decoding_end.outputs());
  camera_.start.decode = camera_.start.on_demand = false;
}

void PacketRouter::copy(const AVPacket& packet, const PacketTimes& times) {
  const auto correction = copies_.video(packet, clock_.source_clock(), times, followed_.fault() == Fault::none);
  if (!camera_.start.decode && correction) clock_.count(*correction);
}

void PacketRouter::video(const AVPacket& packet) {
  follow_end_of_decoding();
  follow_stream(packet);
  const AVPacket& followed = followed_.packet();
  const PacketNote note = clock_.note(followed);
  const PacketTimes times{note.arrival, note.capture_utc, note.capture_clock};
  await_key_frame(followed, note.arrival);
  if (followed_.shows_picture()) copy(followed, times);
  if (followed_.stream().hides_references && copies_.take_cut() && cut_lines_.pass()) {
    spdlog::warn(
        "{}: its edit list cuts between key frames: copies begin with the next key frame (encode: {{codec: h264}} "
        "keeps all that it shows)",
        camera_.name());
  }
  if ((packet.flags & AV_PKT_FLAG_CORRUPT) != 0) camera_.source.counters.add(Counter::corrupt_packets);
  if (followed_.fault() != Fault::no_key_frame) outlet_.video(followed, note);
}

// A file's audio is not paced: it is read beside the video, which is. What lies before the video is left out in each
// turn of a loop: it would lie on the end of the turn before.
void PacketRouter::audio(const AVPacket& packet, const ReadAhead::Times& times) {
  follow_end_of_decoding();
  followed_.follow_audio();
  const SourceStream& stream = followed_.stream();
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (!camera_.live && av_compare_ts(time, stream.audio_time_base, stream.start, stream.time_base) < 0) return;
  if (copies_.audio(packet, clock_.sound_time(packet, times.arrival), times.arrival)) return;
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
