#include "app/master/frame_clock.h"

#include <algorithm>

#include "app/master/source_times.h"

namespace campipe {
namespace {

constexpr std::size_t most_notes = 256;
constexpr std::int64_t longest_reorder = 64;  // packets, until a note is of no more use

}  // namespace

FrameClock::FrameClock(const DecodingContext& camera) : camera_(camera) {
  const DecodingStart& start = camera.start;
  if (start.resume) before_ = {*start.resume, start.resume_packet};
}

void FrameClock::begin_live() {
  before_.reset();
  if (camera_.start.resume) frame_times_.set_last(*camera_.start.resume, 0);
}

void FrameClock::begin_loop_after(std::int64_t resume) {
  frame_times_.set_last(std::max(resume, before_ ? before_->pts : -1), 0);
  before_.reset();
}

void FrameClock::connected(const SourceStream& stream) {
  stream_ = &stream;
  notes_.clear();
}

void FrameClock::note(const PacketNote& note) {
  newest_ = note;
  notes_.push_back(note);
  if (notes_.size() > most_notes) notes_.pop_front();
}

// The packet's or, where that is not known any more, the newest one's.
PacketNote FrameClock::note_of(std::int64_t packet) {
  while (!notes_.empty() && notes_.front().packet < packet - longest_reorder) notes_.pop_front();
  const auto found = std::ranges::find(notes_, packet, &PacketNote::packet);
  if (found != notes_.end()) return *found;
  PacketNote note = newest_;
  note.capture_utc = note.arrival_utc;
  note.capture_clock = CaptureClock::arrival;
  return note;
}

// Where it decodes again what its predecessor did, the decoder gives the same frames in the same order: up to the
// newest that was published all were. If that one does not come, what lies behind it is new all the same.
bool FrameClock::comes_again(const DecodedFrame& frame, std::optional<std::int64_t> at, std::int64_t duration) {
  Before& before = *before_;
  if (!before.packet) {
    const std::int64_t next = frame_times_.last() < 0 ? 0 : frame_times_.end();
    if (at.value_or(next) > before.pts) return false;
    frame_times_.set_last(at.value_or(next), duration);  // frames without a time count from the one before
    return true;
  }
  const bool is_behind = at && *at > before.pts;
  if (frame.packet == *before.packet && !(before.met && is_behind)) {  // some packets have two frames
    before.met = true;
    frame_times_.set_last(before.pts, duration);
    return true;
  }
  if (is_behind && !before.met) frame_times_.set_last(before.pts, 0);
  return !before.met && !is_behind;
}

bool FrameClock::set_times(const DecodedFrame& frame, FrameTimes& times) {
  if (times.duration <= 0) times.duration = usual_duration(*stream_);
  const PacketNote note = note_of(frame.packet);
  std::optional<Timeline::Mapped> mapped;
  if (frame.pts != AV_NOPTS_VALUE) {
    const std::int64_t time = source_ns(*stream_, frame.pts);
    mapped = {time, time + note.offset};
  }
  if (before_) {
    if (comes_again(frame, mapped ? std::optional(mapped->at) : std::nullopt, times.duration)) return false;
    before_.reset();
  }
  const Timeline::Time time = frame_times_.next(mapped, times.duration);
  times.pts = time.pts;
  // Where it is decoded on demand, corrections of the copies are counted.
  if (time.correction && camera_.start.decode) camera_.source.counters.add(counter_of(*time.correction));
  times.media_time = time.pts + note.media_offset;
  times.capture_utc = note.capture_utc;
  times.capture_clock = note.capture_clock;
  return true;
}

}  // namespace campipe
