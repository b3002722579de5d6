#include "app/publisher/recording/segment.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "app/publisher/recording/record_times.h"
#include "core/frame_age.h"

namespace campipe {
namespace {

constexpr std::int64_t longest_frame =
    10'000'000'000;  // more between two frames is a gap, which belongs to neither file
constexpr std::int64_t shortest_fragment = 200'000'000;
constexpr std::int64_t longest_fragment = 2'000'000'000;
constexpr std::int64_t smallest_step = 500'000'000;  // of a camera's clock; less is how it counts
constexpr std::int64_t shortest_between_steps = 10'000'000'000;

bool is_by_camera(const PacketView& packet) {
  return packet.times.capture_utc > 0 && packet.times.capture_clock == CaptureClock::camera;
}

// So that a file that begins with frames that lead up to a key frame does not end with that.
std::int64_t boundary_behind(std::int64_t start_utc, std::chrono::nanoseconds length) {
  return next_segment_boundary(start_utc + std::min(longest_leading, length.count() / 4), length);
}

}  // namespace

std::int64_t begin_of_next(const PacketView& key, std::int64_t end) {
  const std::int64_t leading = key.times.pts - end;
  const bool is_reordered = key.key && key.dts < key.times.pts;
  return is_reordered && leading > 0 && leading <= longest_leading ? end : key.times.pts;
}

Segment::Segment(RecordFile file, std::unique_ptr<Recorder> recorder, std::chrono::nanoseconds length,
                 const Extent& committed)
    : file_(std::move(file)),
      recorder_(std::move(recorder)),
      length_(length),
      committed_(committed),
      end_(committed.end),
      end_utc_(committed.end_utc) {
  if (length_.count() > 0) boundary_ = boundary_behind(file_.start_utc, length_);
  if (file_.camera_clock) camera_clock_ = file_.start_utc - file_.begin;
}

bool Segment::fragment_ends_before(const PacketView& next) const {
  if (!fragment_.first_dts) return false;
  const std::int64_t length = next.dts - *fragment_.first_dts;
  return length >= longest_fragment || (next.key && (length >= shortest_fragment || !fragment_.begins_with_key));
}

// By when the frame was taken, as the file's name: a writer that is late cuts at the same frames. Also when the clock
// has been set back by so much that its boundary has become senseless.
bool Segment::is_over(const PacketView& packet) const {
  if (jump_ == Jump::of_machine) return true;
  if (jump_ == Jump::of_camera || clock_step_with(packet) != 0)
    return packet.times.pts - file_.begin >= shortest_between_steps;
  if (boundary_ == 0) return false;
  const std::int64_t taken = capture_utc_of(packet.times);
  return taken >= boundary_ || taken < file_.start_utc - length_.count();
}

void Segment::clock_jumped() { end_by_length(Jump::of_machine); }

void Segment::end_by_length(Jump why) {
  jump_ = why;
  end_utc_ = file_.start_utc + (end_ - file_.begin);
}

// By how much the camera's clock was set since the newest frame; 0: it was not.
std::int64_t Segment::clock_step_with(const PacketView& packet) const {
  if (!camera_clock_ || !is_by_camera(packet)) return 0;
  const std::int64_t step = packet.times.capture_utc - packet.times.pts - *camera_clock_;
  return std::abs(step) < smallest_step ? 0 : step;
}

void Segment::follow_camera_clock(const PacketView& packet) {
  const std::int64_t step = clock_step_with(packet);
  if (is_by_camera(packet)) camera_clock_ = packet.times.capture_utc - packet.times.pts;
  if (step == 0 || jump_ != Jump::none) return;
  end_by_length(Jump::of_camera);
  clock_step_ = std::chrono::nanoseconds(step);
}

void Segment::write(const PacketView& packet, bool is_new) {
  follow_camera_clock(packet);
  fragment_.empty = false;
  if (!fragment_.first_dts) {
    fragment_.first_dts = packet.dts;
    fragment_.begins_with_key = packet.key;
  }
  recorder_->write(packet);
  fragment_.end_dts = packet.dts + packet.times.duration;
  end_ = std::max(end_, packet.times.pts + packet.times.duration);
  end_utc_ = jump_ != Jump::none ? file_.start_utc + (end_ - file_.begin)
                                 : std::max(end_utc_, capture_utc_of(packet.times) + packet.times.duration);
  ++fragment_.packets;
  if (is_new) ++fragment_.new_packets;
}

void Segment::write_audio(const PacketView& packet, const AudioParameters& stream) {
  if (file_.audio != stream || packet.times.pts + packet.times.duration <= file_.begin) return;
  recorder_->write_audio(packet);
  fragment_.empty = false;
}

void Segment::end_with(FileEnd why, const PacketView* next) {
  if (next != nullptr && std::abs(next->times.pts - end_) < longest_frame) {
    const std::int64_t begins = begin_of_next(*next, end_);
    end_utc_ += begins - end_;
    end_ = begins;
  }
  ended_ = why;
}

Segment::Committed Segment::commit(std::optional<std::int64_t> next_dts, std::optional<std::int64_t> file_end) {
  const std::uint64_t before = committed_.position.packets;
  committed_.position = recorder_->flush(next_dts, file_end);
  commit_end();
  const Fragment fragment = std::exchange(fragment_, Fragment{});
  const std::uint64_t in_file = committed_.position.packets - before;
  const std::uint64_t left_out = std::min(fragment.packets - std::min(in_file, fragment.packets), fragment.new_packets);
  return {fragment.new_packets - left_out, left_out};
}

void Segment::commit_end() {
  committed_.end = end_;
  committed_.end_utc = end_utc_;
}

}  // namespace campipe
