#include "app/master/camera_sets.h"

#include <cmath>
#include <utility>

#include "core/log.h"
#include "ipc/counter_table.h"
#include "ipc/decode_blocks.h"

namespace campipe {

CameraSets::CameraSets(DecodingContext& camera) : camera_(camera) {
  const auto& group = camera.start.group;
  if (!group) return;
  numbering_.emplace(group->rate);
  if (camera.start.live) return;
  // A member that resumes after its master's restart is in step: the master before has moved it. The group knows its
  // set at once, so that a file that begins before its next frame is moved to it.
  moves_ = !camera.start.resume;
  if (!moves_) {
    GroupClock& clock = *camera.start.group_clock;
    clock.ahead(camera.start.camera, clock.set_of(*camera.start.resume + camera.decode.sets.move), Clock::now());
  }
}

void CameraSets::lock_anew() {
  if (numbering_) numbering_->lock_anew();
  phase_.reset();
}

void CameraSets::enter(FrameTimes& times, const PacketNote& newest) {
  if (!numbering_) return;
  if (clock_ && clock_ != times.capture_clock) lock_anew();
  clock_ = times.capture_clock;
  move_to_present(times, newest);
  if (!is_present(times, newest)) {
    times.set_state = SetState::far;
    return;
  }
  go_with_others();
  const std::uint64_t slips = numbering_->slips();
  const auto number = numbering_->number_of(times.media_time);
  if (const std::uint64_t more = numbering_->slips() - slips; more > 0) {
    camera_.decode.counters.add(Counter::set_slips, more);
  }
  note_phase();
  times.set_state = number ? SetState::own : SetState::taken;
  times.set = static_cast<std::uint64_t>(std::max<std::int64_t>(number.value_or(0), 0));
}

// Without another member, one that resumes keeps the phase that the master before had learnt.
void CameraSets::go_with_others() {
  if (numbering_->phase()) return;
  const auto beside = camera_.start.group_clock->phase_beside(camera_.start.camera, Clock::now());
  const double before = static_cast<double>(camera_.decode.sets.phase) * 1e-9 * camera_.start.group->rate;
  numbering_->lock_near(beside.value_or(camera_.start.resume ? before : 0));
}

void CameraSets::move_to_present(FrameTimes& times, const PacketNote& newest) {
  if (camera_.start.live) return;
  std::atomic<std::int64_t>& move = camera_.decode.sets.move;
  if (std::exchange(moves_, false)) {
    const std::chrono::nanoseconds age(newest.group_offset);
    move = camera_.start.group_clock->moved(camera_.start.camera, times.media_time, age, Clock::now());
    if (move != 0) {
      spdlog::info("{}: begins with the set that the others of its group '{}' have come to", camera_.name(),
                   camera_.start.group->name);
    }
  }
  times.media_time += move;
}

bool CameraSets::is_present(const FrameTimes& times, const PacketNote& newest) {
  const double rate = camera_.start.group->rate;
  GroupClock& group = *camera_.start.group_clock;
  double off = 0;  // s
  if (camera_.start.live) {
    off = static_cast<double>(group.off(times.media_time, newest.arrival, newest.group_offset)) / 1e9;
  } else {
    const std::int64_t set = group.set_of(times.media_time);
    off = static_cast<double>(group.ahead(camera_.start.camera, set, Clock::now())) / rate;
  }
  if (off == 0) return true;
  if (const auto more = lines_.pass()) {
    const char* why = !camera_.start.live ? "its timestamps leap, and those of the others do not"
                      : off > 0           ? "set the camera's clock (NTP), or its use_absolute_timestamp to false"
                                          : "they come too late, or the camera's clock is wrong";
    spdlog::warn("{}: its frames are {:+.1f} s off its group '{}' and are dropped: {}{}", camera_.name(), off,
                 camera_.start.group->name, why, *more);
  }
  return false;
}

// How far its frames have moved against the sets since they were locked: a slip is no move.
void CameraSets::note_phase() {
  const auto phase = numbering_->phase();
  SetHealth& health = camera_.decode.sets;
  const double set_ns = 1e9 / camera_.start.group->rate;
  if (phase && phase_) {
    const double moved = *phase - *phase_;
    const double slip = std::abs(moved) > 0.5 ? std::copysign(1, moved) : 0;
    drift_ += (moved - slip) * set_ns;
    health.drift = std::llround(drift_);
  }
  phase_ = phase;
  if (phase) camera_.start.group_clock->lies(camera_.start.camera, *phase, Clock::now());
  health.phase = std::llround(phase.value_or(0) * set_ns);
}

}  // namespace campipe
