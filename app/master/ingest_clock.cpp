// Ingest's clock: what each packet says of the source's, and what is reported of that.
#include <algorithm>
#include <cstdlib>

#include "app/control/thread_scope.h"
#include "app/master/ingest.h"
#include "app/master/source_times.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto longest_preview = std::chrono::seconds(1);  // of what waits to be read when a connection is made
constexpr std::size_t most_previewed = 256;                // packets
constexpr std::int64_t fresh = 5'000'000;               // ns; a packet that was waited for so long had not lain there
constexpr std::size_t most_read_for_leap = 512;         // packets
constexpr std::int64_t leap_tolerance = 2'000'000'000;  // ns, between audio and video
constexpr std::size_t most_notes = 256;
// ns, of a camera's time of day off this machine's. What is off by more was never set, or is set while it runs, and
// recordings could not be found by it.
constexpr std::int64_t believed_clock = 10'000'000'000;
constexpr std::int64_t reported_lag = 2'000'000'000;    // ns
constexpr std::int64_t reported_drift = 1'000'000'000;  // ns

}  // namespace

std::optional<std::int64_t> Ingest::decode_time(const AVPacket& packet) const {
  if (packet.dts != AV_NOPTS_VALUE) return source_ns(source_->stream(), packet.dts);
  if (packet.pts != AV_NOPTS_VALUE) return source_ns(source_->stream(), packet.pts);
  return std::nullopt;
}

const ReadAhead::Entry* Ingest::look_ahead() {
  const ThreadWait wait(WaitsFor::source, source_deadline());
  return ahead_.look(*source_);
}

// What opening a source left waiting to be read has arrived before it is read: the first packet that has to be waited
// for shows how old that is.
void Ingest::preview() {
  if (!live_ || source_->stream().in_bursts) return;
  const Deadline deadline = Clock::now() + longest_preview;
  while (!stopped() && Clock::now() < deadline && ahead_.size() < most_previewed) {
    scope_->beat();
    const ReadAhead::Entry* entry = look_ahead();
    if (entry == nullptr) return;
    if (entry->result != ReadResult::packet) continue;
    if (const auto time = decode_time(*entry->packet)) clock_.preview(*time, entry->times.arrival);
    if (entry->times.waited > fresh) return;
  }
}

void Ingest::observe(const AVPacket& packet) {
  const auto time = decode_time(packet);
  if (!time) return;
  SourceClock::Sample sample{.source = *time, .arrival = arrival_, .waited = ahead_.times().waited};
  sample.duration = av_rescale_q(packet.duration, source_->stream().time_base, nanoseconds);
  // It says when the frame was taken, which may be shown later than it is decoded.
  const std::int64_t shown_later = packet.pts != AV_NOPTS_VALUE ? source_ns(source_->stream(), packet.pts) - *time : 0;
  if (const auto utc = capture_time(packet)) sample.capture_utc = *utc - shown_later;
  sample.leap_confirmed = clock_.leaps(*time) && confirms_leap(*time);
  report_clock(clock_.observe(sample));
}

// For copies, and kept for the frame that comes out of it.
PacketTimes Ingest::note(const AVPacket& packet) {
  // What was held up was taken before it arrived.
  PacketNote note{packet.pos, clock_.offset(), arrival_utc_ - std::max<std::int64_t>(clock_.lag(), 0)};
  const auto utc = start_.config.use_absolute_timestamp ? capture_time(packet) : std::nullopt;
  if (utc && std::abs(*utc - note.capture_utc) <= believed_clock) {
    note.capture_utc = *utc;
    note.capture_clock = CaptureClock::camera;
  }
  block_.source.camera_clock = note.capture_clock == CaptureClock::camera ? 1 : 0;
  notes_.push_back(note);
  if (notes_.size() > most_notes) notes_.pop_front();
  return {arrival_, note.capture_utc, note.capture_clock};
}

// A leap in a file's times is its own where its container has one clock for all, or where the audio makes it, too.
bool Ingest::confirms_leap(std::int64_t to) {
  const SourceStream& stream = source_->stream();
  if (!stream.discontinuous) return true;
  while (stream.audio != nullptr && ahead_.size() < most_read_for_leap) {
    const ReadAhead::Entry* entry = look_ahead();
    if (entry == nullptr) return false;
    const AVPacket& packet = *entry->packet;
    if (entry->result == ReadResult::audio) {
      if (packet.pts != AV_NOPTS_VALUE && audio_ns(stream, packet.pts) > to - leap_tolerance) return true;
    } else if (const auto time = decode_time(packet); time && *time > to + leap_tolerance) {
      return false;
    }
  }
  return false;
}

void Ingest::count(Correction kind) { block_.source.times_corrected.at(static_cast<std::size_t>(kind)).fetch_add(1); }

// Each kind once for each connection.
void Ingest::report_clock(const std::optional<SourceClock::Corrected>& corrected) {
  SourceHealth& health = block_.source;
  health.clock_drift = clock_.drift();
  health.time_origin = clock_.origin();
  health.lag = clock_.late();
  health.largest_lag = std::max(health.largest_lag.load(), clock_.late());
  const char* by = live_ ? "by when frames arrive" : "behind the frame before";
  if (corrected) {
    count(corrected->kind);
    const double seconds = static_cast<double>(corrected->by) / 1e9;
    if (!told_of_clock_.insert(name_of(corrected->kind)).second) return;
    if (corrected->kind == Correction::stopped) {
      spdlog::warn(
          "{}: its clock stood still, or runs slow: it is {:.1f} s behind; its timestamps are moved on, and that is "
          "counted in the report",
          start_.config.name, -seconds);
    } else {
      spdlog::warn("{}: its clock jumped by {:+.1f} s; time goes on {}, and that is counted in the report",
                   start_.config.name, seconds, by);
    }
  } else if (std::abs(clock_.drift()) > reported_drift && told_of_clock_.insert("drift").second) {
    spdlog::warn(
        "{}: its clock has drifted by more than a second since it was connected; its timestamps are made to "
        "follow this machine's clock",
        start_.config.name);
  } else if (clock_.late() > reported_lag && told_of_clock_.insert("lag").second) {
    spdlog::warn(
        "{}: its frames arrive {:.1f} s late, as after a stall of the network or on a machine that is too "
        "slow; their timestamps are kept",
        start_.config.name, static_cast<double>(clock_.late()) / 1e9);
  }
}

}  // namespace campipe
