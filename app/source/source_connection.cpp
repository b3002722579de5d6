#include "app/source/source_connection.h"

#include <iterator>
#include <vector>

#include "app/control/thread_scope.h"
#include "app/rings/source_times.h"
#include "app/source/first_arrivals.h"
#include "app/source/first_times.h"
#include "core/clock.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_end.h"

namespace campipe {
namespace {

constexpr auto uninterrupted = std::chrono::seconds(60);  // FFmpeg's own requests to name servers take no longer
constexpr std::size_t most_looked_at = 256;               // packets, for the first of the video
constexpr auto longest_dating = std::chrono::seconds(1);

}  // namespace

SourceConnection::SourceConnection(const CameraContext& camera)
    : camera_(camera),
      track_times_(camera.name(), camera.start.config.timestamps == Timestamps::arrival),
      packets_read_(camera.start.packet) {}

// By when a source has answered or has been given up: its silence is no hang of its thread. A file has no such time,
// since its disk may be another machine's; to end the process would bring back neither.
Deadline SourceConnection::deadline() const {
  const SourceConfig& source = camera_.start.config.source;
  return camera_.live ? Clock::now() + source.read_timeout + longest_pause(source) + uninterrupted : Deadline::max();
}

void SourceConnection::open() {
  const ThreadWait wait(WaitsFor::source, deadline());
  opened_ = now_ns();
  source_ = camera_.start.open_source(camera_.start.config.source, [this] { return camera_.stop.stopped(); });
  ahead_.clear();
  track_times_.restart();
}

void SourceConnection::close() {
  const ThreadWait wait(WaitsFor::source, deadline());
  source_.reset();
}

ReadResult SourceConnection::read(AVPacket& packet) {
  ReadResult result = ReadResult::end;
  {
    const ThreadWait wait(WaitsFor::source, deadline());
    result = ahead_.read(*source_, packet);
  }
  const AVRational time_base = result == ReadResult::audio ? stream().audio_time_base : stream().time_base;
  forget_absurd_times(packet, time_base, camera_.live, result == ReadResult::audio ? 0 : usual_duration(stream()));
  if (shows_arrivals()) track_times_.correct(packet, result, stream(), times());
  if (result == ReadResult::packet) packet.pos = packets_read_++;
  return result;
}

// What comes in bursts or is asked for has no arrivals that show anything.
bool SourceConnection::shows_arrivals() const {
  return camera_.live && !stream().in_bursts && !source_->asks_for_each();
}

const ReadAhead::Entry* SourceConnection::look() {
  const ThreadWait wait(WaitsFor::source, deadline());
  return ahead_.look(*source_);
}

const AVPacket* SourceConnection::look_at_first_video() {
  const ReadAhead::Entry* entry = look();
  while (entry != nullptr && entry->result != ReadResult::packet && ahead_.size() < most_looked_at) entry = look();
  return entry != nullptr && entry->result == ReadResult::packet ? entry->packet.get() : nullptr;
}

void SourceConnection::date_first() {
  const std::int64_t frame = av_rescale_q(usual_duration(stream()), nanoseconds, stream().time_base);
  if (frame <= 0 || stream().codec == nullptr) return;
  std::vector<AVPacket*> before;
  const Deadline deadline = Clock::now() + longest_dating;
  while (std::ssize(before) <= most_kept_back && Clock::now() < deadline && !camera_.stop.stopped()) {
    if (look() == nullptr) return;
    const ReadAhead::Entry& entry = ahead_.entries().back();
    if (entry.result != ReadResult::packet) continue;
    if (!before.empty() && entry.packet->dts != AV_NOPTS_VALUE) return date_first_packets(before, *entry.packet, frame);
    before.push_back(entry.packet.get());
  }
}

void SourceConnection::spread_arrivals() { spread_first_arrivals(ahead_.entries(), stream(), opened_); }

void SourceConnection::rewind() {
  const ThreadWait wait(WaitsFor::source, deadline());
  source_->rewind();
  ahead_.clear();
}

void SourceConnection::seek(std::int64_t pts) {
  const ThreadWait wait(WaitsFor::source, deadline());
  source_->seek(pts);
  ahead_.clear();
}

}  // namespace campipe
