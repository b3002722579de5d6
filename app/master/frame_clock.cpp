#include "app/master/frame_clock.h"

#include <algorithm>
#include <utility>

#include "app/rings/source_times.h"
#include "ipc/decode_blocks.h"

namespace campipe {
namespace {

constexpr std::size_t most_notes = 256;
constexpr std::int64_t longest_reorder = 64;  // packets, until a note is of no more use

}  // namespace

FrameClock::FrameClock(const DecodingContext& camera) : camera_(camera) {
  const DecodingStart& start = camera.start;
  const auto dropped = settle_drop(camera.edge, start.base);
  Before before;
  before.pts = start.resume.value_or(-1);
  if (start.replays) {
    before.packet = start.resume_packet;
    before.dropped = dropped;
  }
  if (start.resume || before.dropped) before_ = before;
}

void FrameClock::read_by_another() {
  const std::int64_t last = std::max(frame_times_.last(), before_ ? before_->pts : -1);
  before_.reset();
  if (last < 0) return;
  if (camera_.start.live || camera_.start.loops) return frame_times_.set_last(last, 0);
  frame_times_ = {};  // frames without a time are counted from the beginning
  Before before;
  before.pts = last;
  before_ = before;
}

void FrameClock::connected(const SourceStream& stream) {
  stream_ = &stream;
  notes_.clear();
}

void FrameClock::note(const PacketNote& note) {
  if (!std::exchange(began_, true)) begin_behind(note.packet);
  newest_ = note;
  notes_.push_back(note);
  if (notes_.size() > most_notes) notes_.pop_front();
}

bool FrameClock::knows_of(std::int64_t packet) const {
  if (!before_) return false;
  if (before_->packet && *before_->packet >= packet) return true;
  return before_->dropped && !before_->dropped->is_before(static_cast<std::uint64_t>(packet));
}

// Packets are numbered on: what lies before the first one does not come again.
void FrameClock::begin_behind(std::int64_t packet) {
  if (!before_ || (!before_->packet && !before_->dropped) || knows_of(packet)) return;
  frame_times_.set_last(std::max(frame_times_.last(), before_->pts), 0);
  before_.reset();
}

bool FrameClock::has_passed(std::int64_t packet, std::int64_t pts) const {
  return before_ && (knows_of(packet) || source_ns(*stream_, pts) + note_of(packet).offset <= before_->pts);
}

void FrameClock::forget_notes_before(std::int64_t packet) {
  while (!notes_.empty() && notes_.front().packet < packet - longest_reorder) notes_.pop_front();
}

// The packet's or, where that is not known any more, the newest one's.
PacketNote FrameClock::note_of(std::int64_t packet) const {
  const auto found = std::ranges::find(notes_, packet, &PacketNote::packet);
  if (found != notes_.end()) return *found;
  PacketNote note = newest_;
  note.capture_utc = note.arrival_utc;
  note.capture_clock = CaptureClock::arrival;
  return note;
}

std::optional<Timeline::Mapped> FrameClock::mapped(const DecodedFrame& frame, const PacketNote& note) const {
  if (frame.pts == AV_NOPTS_VALUE) return std::nullopt;
  const std::int64_t time = source_ns(*stream_, frame.pts);
  return Timeline::Mapped{time, time + note.offset};
}

bool FrameClock::comes_again(const DecodedFrame& frame) {
  if (!before_) return false;
  if (is_known(frame)) return true;
  if (before_->packet && !before_->published_came) frame_times_.set_last(before_->pts, 0);
  before_.reset();
  return false;
}

// Where it decodes again what its predecessor did, the decoder gives the same frames in the same order: up to the
// newest that was published or dropped all were. If that one does not come, what lies behind it is new all the same.
bool FrameClock::is_known(const DecodedFrame& frame) {
  Before& before = *before_;
  const std::int64_t lasts = frame.record.times.duration;
  const std::int64_t duration = lasts > 0 ? lasts : usual_duration(*stream_);
  forget_notes_before(frame.packet);
  const auto where = mapped(frame, note_of(frame.packet));
  const auto at = where ? std::optional(where->at) : std::nullopt;
  if (!before.packet && !before.dropped) return is_known_by_time(at, duration);
  const bool is_behind = at && *at > before.pts;
  if (before.packet == frame.packet && !(before.published_came && is_behind)) {  // some packets have two frames
    before.published_came = true;
    frame_times_.set_last(before.pts, duration);
    return true;
  }
  if (!before.dropped) return !before.published_came && !is_behind;
  if (before.dropped->is_of(static_cast<std::uint64_t>(frame.packet))) return before.dropped_came = true;
  return !before.dropped_came && !before.dropped->is_far_before(static_cast<std::uint64_t>(frame.packet));
}

bool FrameClock::is_known_by_time(std::optional<std::int64_t> at, std::int64_t duration) {
  const std::int64_t next = frame_times_.last() < 0 ? 0 : frame_times_.end();
  if (at.value_or(next) > before_->pts) return false;
  frame_times_.set_last(at.value_or(next), duration);  // frames without a time count from the one before
  return true;
}

void FrameClock::set_times(const DecodedFrame& frame, FrameTimes& times) {
  if (times.duration <= 0) times.duration = usual_duration(*stream_);
  forget_notes_before(frame.packet);
  const PacketNote note = note_of(frame.packet);
  const Timeline::Time time = frame_times_.next(mapped(frame, note), times.duration);
  times.pts = time.pts;
  // Where it is decoded on demand, corrections of the copies are counted.
  if (time.correction && camera_.start.decode) camera_.decode.counters.add(counter_of(*time.correction));
  times.media_time = time.pts + note.media_offset;
  times.capture_utc = note.capture_utc;
  times.capture_clock = note.capture_clock;
}

}  // namespace campipe
