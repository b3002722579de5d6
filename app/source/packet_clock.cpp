#include "app/source/packet_clock.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "app/rings/timeline.h"
#include "core/log.h"
#include "ipc/source_blocks.h"

namespace campipe {
namespace {

constexpr auto longest_preview = std::chrono::seconds(1);  // of what waits to be read when a connection is made
constexpr std::size_t most_previewed = 256;                // packets
constexpr std::int64_t longest_read = 5'000'000;        // ns; a packet that was waited for so long had not lain there
constexpr std::size_t most_read_for_leap = 512;         // packets
constexpr std::int64_t leap_tolerance = 2'000'000'000;  // ns, between audio and video
// ns, of a camera's time of day off this machine's. What is off by more was never set, or is set while it runs, and
// recordings could not be found by it.
constexpr std::int64_t believed_clock = 10'000'000'000;
// What comes in bursts is made long before it arrives.
constexpr std::int64_t longest_ago_in_bursts = 3'600'000'000'000;
constexpr std::int64_t latest_utc = std::int64_t{1} << 62;  // ns since 1970, as in ring_checks.cpp
constexpr std::int64_t reported_lag = 2'000'000'000;        // ns
constexpr std::int64_t reported_drift = 1'000'000'000;      // ns
constexpr std::int64_t reported_sound = 200'000'000;        // ns

// `ahead`: a camera's time of day, of this machine's.
bool is_believed(std::int64_t ahead, bool in_bursts) {
  return ahead <= believed_clock && ahead >= -(in_bursts ? longest_ago_in_bursts : believed_clock);
}

bool was_waited_for(const ReadAhead::Entry& entry) {
  return entry.result == ReadResult::packet && entry.times.waited > longest_read;
}

}  // namespace

PacketClock::PacketClock(CameraContext& camera, SourceConnection& source)
    : camera_(camera), source_(source), clock_(camera.live) {}

void PacketClock::begin_live(std::int64_t copied) {
  const std::int64_t before = std::max(camera_.start.resume.value_or(-1), copied);
  if (before < 0) return;
  const SourceHealth& health = camera_.source.health;
  clock_.resume(before, health.time_origin);
  const std::int64_t offset = health.media_offset;
  if (offset > 0 && offset < latest_utc) {
    const CaptureClock by = health.camera_clock != 0 ? CaptureClock::camera : CaptureClock::arrival;
    media_.resume(offset, by);
    if (camera_.group && health.time_origin != 0) camera_.group->resume(offset - health.time_origin, by);
  }
}

void PacketClock::begin_loop_after(std::int64_t resume, std::int64_t copied) {
  clock_.begin(0, std::max(resume + smallest_step, copied));
}

void PacketClock::next_round(std::int64_t at) {
  clock_.begin(0, at);
  round_ = {};
}

std::optional<std::int64_t> PacketClock::source_time(const AVPacket& packet) const {
  return decode_time(source_.stream(), packet);
}

void PacketClock::preview() {
  if (!camera_.live || source_.stream().in_bursts || source_.asks_for_each()) return;
  source_.date_first();
  if (camera_.start.config.timestamps != Timestamps::arrival) {
    look_until([this](const ReadAhead::Entry& entry) { return shows_age(entry); });
    return;
  }
  look_until([](const ReadAhead::Entry& entry) { return was_waited_for(entry) || entry.times.by_source; });
  source_.spread_arrivals();
}

// The first packet for which that is true, of those that wait to be read.
void PacketClock::look_until(const std::function<bool(const ReadAhead::Entry&)>& condition) {
  for (const ReadAhead::Entry& entry : source_.ahead()) {
    if (condition(entry)) return;
  }
  const Deadline deadline = Clock::now() + longest_preview;
  while (!camera_.stop.stopped() && Clock::now() < deadline && source_.looked_at() < most_previewed) {
    camera_.stop.beat();
    const ReadAhead::Entry* entry = source_.look();
    if (entry == nullptr || condition(*entry)) return;
  }
}

// It had to be waited for; those before it may have lain there.
bool PacketClock::shows_age(const ReadAhead::Entry& entry) {
  if (entry.result != ReadResult::packet) return false;
  if (const auto time = source_time(*entry.packet)) clock_.preview(*time, entry.times.arrival);
  return was_waited_for(entry);
}

void PacketClock::observe(const AVPacket& packet) {
  const auto time = source_time(packet);
  if (!time) return;
  SourceClock::Sample sample{.source = *time, .arrival = arrival_, .waited = source_.times().waited};
  sample.duration = av_rescale_q(packet.duration, source_.stream().time_base, nanoseconds);
  // It says when the frame was taken, which may be shown later than it is decoded.
  const std::int64_t shown_later = packet.pts != AV_NOPTS_VALUE ? source_ns(source_.stream(), packet.pts) - *time : 0;
  if (const auto utc = capture_time(packet)) sample.capture_utc = *utc - shown_later;
  sample.leap_confirmed = clock_.leaps(*time) && confirms_leap(*time);
  if (camera_.live) sound_.observe_video(*time, arrival_);
  report(clock_.observe(sample));
}

std::optional<std::int64_t> PacketClock::sound_time(const AVPacket& packet, std::int64_t arrival) {
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (time == AV_NOPTS_VALUE) return std::nullopt;
  if (std::exchange(tracks_realigned_, source_.tracks_realigned()) != source_.tracks_realigned()) sound_.realign();
  const int replaced = sound_.replaced();
  const auto at = sound_.place(audio_ns(source_.stream(), time), arrival, clock_);
  report_sound(sound_.replaced() != replaced);
  return at;
}

void PacketClock::arrived(bool as_read) {
  arrival_ = as_read ? source_.times().arrival : now_ns();
  arrival_utc_ = as_read ? source_.times().arrival_utc : utc_now_ns();
}

void PacketClock::passed_late(std::chrono::nanoseconds by) { note_lag(std::max<std::int64_t>(by.count(), 0)); }

void PacketClock::note_lag(std::int64_t lag) {
  SourceHealth& health = camera_.source.health;
  health.lag = lag;
  health.largest_lag = std::max(health.largest_lag.load(), lag);
}

PacketNote PacketClock::note(const AVPacket& packet) {
  PacketNote note{.packet = packet.pos, .arrival = arrival_, .arrival_utc = arrival_utc_};
  note.waited = source_.times().waited;
  note.late = clock_.late();
  note.offset = clock_.offset();
  note.capture_utc = arrival_utc_ - std::max<std::int64_t>(clock_.lag(), 0);  // what was held up was taken before
  const auto utc = camera_.start.config.use_absolute_timestamp ? capture_time(packet) : std::nullopt;
  if (utc && is_believed(*utc - note.capture_utc, source_.stream().in_bursts)) {
    note.capture_utc = *utc;
    note.capture_clock = CaptureClock::camera;
  }
  camera_.source.health.camera_clock = note.capture_clock == CaptureClock::camera ? 1 : 0;
  note.group_offset = group_offset_;
  if (camera_.live) measure_media_clock(packet, note);
  note.media_offset = media_.offset();
  if (camera_.start.config.source.loop) note_end(packet);
  return note;
}

void PacketClock::note_end(const AVPacket& packet) {
  std::int64_t duration = av_rescale_q(packet.duration, source_.stream().time_base, nanoseconds);
  if (duration <= 0) duration = usual_duration(source_.stream());
  const auto extend = [&](std::optional<std::int64_t>& end, std::int64_t time) {
    const std::int64_t at = clock_.map(time) + std::max(duration, smallest_step);
    end = std::max(end.value_or(at), at);
  };
  if (const auto time = source_time(packet)) extend(round_.decoding_end, *time);
  if (packet.pts != AV_NOPTS_VALUE) return extend(round_.end, source_ns(source_.stream(), packet.pts));
  round_.untimed = true;
}

void PacketClock::measure_media_clock(const AVPacket& packet, PacketNote& note) {
  const auto decoded = source_time(packet);
  if (!decoded) return;
  const std::int64_t shown = packet.pts != AV_NOPTS_VALUE ? source_ns(source_.stream(), packet.pts) : *decoded;
  const bool by_camera = note.capture_clock == CaptureClock::camera;
  std::int64_t utc_offset = arrival_utc_ - arrival_;
  if (camera_.group && !by_camera) utc_offset = camera_.group->utc_offset(utc_offset, arrival_);
  const std::int64_t offset = by_camera ? note.capture_utc - clock_.map(shown) : clock_.origin() + utc_offset;
  media_.measure(offset, note.capture_clock, clock_.map(*decoded));
  camera_.source.health.media_offset = media_.offset();
  if (camera_.group) {
    // What was read late, such as what lay in the analysis of the stream, shows no other present.
    const std::int64_t due = arrival_ - std::max<std::int64_t>(clock_.lag(), 0);
    group_offset_ = camera_.group->follow(clock_.map(shown) + media_.offset(), note.capture_clock, due);
    note.group_offset = group_offset_;
  }
}

// A leap in a file's times is its own where its container has one clock for all, or where the audio makes it, too.
bool PacketClock::confirms_leap(std::int64_t to) {
  const SourceStream& stream = source_.stream();
  if (!stream.discontinuous) return true;
  while (stream.audio != nullptr && source_.looked_at() < most_read_for_leap) {
    const ReadAhead::Entry* entry = source_.look();
    if (entry == nullptr) return false;
    const AVPacket& packet = *entry->packet;
    if (entry->result == ReadResult::audio) {
      if (packet.pts != AV_NOPTS_VALUE && audio_ns(stream, packet.pts) > to - leap_tolerance) return true;
    } else if (const auto time = source_time(packet); time && *time > to + leap_tolerance) {
      return false;
    }
  }
  return false;
}

void PacketClock::count(Correction kind) { camera_.source.counters.add(counter_of(kind)); }

// Each kind once for each connection.
void PacketClock::report_sound(bool replaced) {
  const double seconds = static_cast<double>(sound_.moved()) / 1e9;
  if (replaced && logged_.insert("sound placed").second) {
    spdlog::warn(
        "{}: the clock of its sound does not fit that of its video: the sound is moved by {:+.1f} s, so that it lies "
        "where it arrives; what would lie on sound that was passed on already is left out",
        camera_.name(), seconds);
  } else if (std::abs(sound_.moved()) > reported_sound && logged_.insert("sound drift").second) {
    spdlog::warn("{}: the clock of its sound drifts against that of its video: the sound is moved by {:+.1f} s so far",
                 camera_.name(), seconds);
  }
}

// Each kind once for each connection.
void PacketClock::report(const std::optional<SourceClock::Corrected>& corrected) {
  SourceHealth& health = camera_.source.health;
  health.clock_drift = clock_.drift();
  health.time_origin = clock_.origin();
  if (camera_.live) note_lag(clock_.late());
  const char* by = camera_.live ? "by when frames arrive" : "behind the frame before";
  if (corrected) {
    count(corrected->kind);
    const double seconds = static_cast<double>(corrected->by) / 1e9;
    if (!logged_.insert(name_of(corrected->kind)).second) return;
    if (corrected->kind == Correction::stopped) {
      spdlog::warn(
          "{}: its clock stood still, or runs slow: it is {:.1f} s behind; its timestamps are moved on, and that is "
          "counted in the report",
          camera_.name(), -seconds);
    } else {
      spdlog::warn("{}: its clock jumped by {:+.1f} s; time goes on {}, and that is counted in the report",
                   camera_.name(), seconds, by);
    }
  } else if (std::abs(clock_.drift()) > reported_drift && logged_.insert("drift").second) {
    spdlog::warn(
        "{}: its clock has drifted by more than a second since it was connected; its timestamps are made to "
        "follow this machine's clock",
        camera_.name());
  } else if (clock_.late() > reported_lag && logged_.insert("lag").second) {
    spdlog::warn(
        "{}: its frames arrive {:.1f} s late, as after a stall of the network or on a machine that is too "
        "slow; their timestamps are kept",
        camera_.name(), static_cast<double>(clock_.late()) / 1e9);
  }
}

}  // namespace campipe
