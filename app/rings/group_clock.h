// What the members of a synchronised group share in a process: the group's present, by which it is judged whether a
// member's frame can be in step with the others' at all. The source follows the present of live members, and passes it
// on with each packet; the master judges frames by it. A frame whose time is far from it would make the others' sets
// late, or keep places of the group's page that are not due for long.
//
// Live members: monotonic time plus one offset for all, taken over from this machine's UTC when the group begins, and
// from then on following its members' clocks, as MediaClock does: the cameras' own where they send them, else this
// machine's. So a clock that is set moves no member against the others. Files have no present but one another's: they
// begin together, and one that begins later, since it was added or switched on again, is moved to where the others are.
// None may be farther than some sets ahead of the slowest that has come to a set lately.
//
// All times in ns. Any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "app/config/group_config.h"
#include "app/rings/media_clock.h"
#include "core/clock.h"
#include "core/frame.h"
#include "ipc/ids.h"

namespace campipe {

class GroupClock {
 public:
  explicit GroupClock(const GroupConfig& group)
      : rate_(group.rate),
        ahead_(std::min(second, static_cast<std::int64_t>(most_ahead * second / group.rate))),
        behind_(ahead_ + group.max_wait.count()),
        jitter_(
            std::min(group.max_wait / 4, std::chrono::nanoseconds(static_cast<std::int64_t>(second / group.rate)))) {}

  // As a process before this one had it; the first of the members counts.
  void resume(std::int64_t offset, CaptureClock by) {
    const std::lock_guard lock(mutex_);
    if (!begun_) clock_.resume(offset, by);
    begun_ = true;
  }
  // A member whose camera does not send its time: this machine's UTC less monotonic time, at `arrival` (monotonic).
  // Returns what is to be taken in place of it.
  std::int64_t utc_offset(std::int64_t offset, std::int64_t arrival) {
    const std::lock_guard lock(mutex_);
    measure(offset, CaptureClock::arrival, arrival);
    return clock_.offset();
  }

  // A packet of a live member, which its frame is of `media_time` by. `arrival`: less what it was held up by. Returns
  // the group's offset: the present is that more than the monotonic time. Where no member has been of the present for
  // seconds, it was none.
  std::int64_t follow(std::int64_t media_time, CaptureClock by, std::int64_t arrival) {
    const std::lock_guard lock(mutex_);
    if (!begun_) measure(utc_now_ns() - now_ns(), CaptureClock::arrival, arrival);
    const std::int64_t offset = clock_.offset();
    const bool is_near = off(media_time, arrival, offset) == 0;
    if (is_near || !near_at_) near_at_ = std::max(near_at_.value_or(arrival), arrival);
    if (by != CaptureClock::camera) return offset;
    const bool is_none = arrival - *near_at_ > longest_without;
    if (is_none) clock_ = {};
    if (is_near || is_none) measure(media_time - arrival, CaptureClock::camera, arrival);
    return is_none ? clock_.offset() : offset;
  }
  // By how much a time is off the present. 0: it is of the present.
  [[nodiscard]] std::int64_t off(std::int64_t media_time, std::int64_t arrival, std::int64_t offset) const {
    const std::int64_t off = media_time - (arrival + offset);
    return off > ahead_ || off < -behind_ ? off : 0;
  }
  // How long ago the first file of the group began. The source asks when a file's first packet comes, and passes the
  // answer on: a second process that asked by itself could come to another decision.
  [[nodiscard]] std::chrono::nanoseconds age(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    return began_ ? now - *began_ : Clock::duration(0);
  }
  // A file that begins then begins with the others, and not where they are.
  [[nodiscard]] static bool begins_together(std::chrono::nanoseconds age) { return age <= begin_together; }
  // By how much the times of a file are moved when its first frame comes (ns, whole sets). `age`: the group's when the
  // file began. 0 if the file begins with the group, or if no other member has come to a set for some seconds.
  std::int64_t moved(CameraId member, std::int64_t media_time, std::chrono::nanoseconds age, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (begins_together(age)) return 0;
    const auto present = farthest_other(member, now, away);
    if (!present) return 0;
    const std::int64_t set = set_of(media_time);
    return time_of(present->set - set).count();
  }
  // The set that a file's frame of this time is of.
  [[nodiscard]] std::int64_t set_of(std::int64_t media_time) const {
    return std::llround(static_cast<double>(media_time) * 1e-9 * rate_);
  }
  // Of a file: by how many sets it is too far ahead of another member.
  std::int64_t ahead(CameraId member, std::int64_t set, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    // A member that resumes after a restart of its process began as long ago as its sets take.
    if (!began_) began_ = now - time_of(std::max<std::int64_t>(set, 0));
    newest_.insert_or_assign(member, Seen{set, now});
    std::int64_t slowest = set;
    for (const auto& [id, seen] : newest_) {
      if (now - seen.at < recently) slowest = std::min(slowest, seen.set);
    }
    return std::max<std::int64_t>(set - slowest - most_sets_ahead, 0);
  }

  // Of a file that comes to a set now: by how much later than the farthest of the others does, or earlier (below 0),
  // where sets come at their rate; nothing where no other one has come to a set lately.
  std::optional<std::chrono::nanoseconds> lag(CameraId member, std::int64_t set, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    const auto present = farthest_other(member, now, recently);
    if (!present) return std::nullopt;
    return now - present->at - time_of(set - present->set);
  }
  // A member's frames lie so far behind their sets now, in sets.
  void lies(CameraId member, double phase, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    phases_.insert_or_assign(member, Phase{phase, now});
  }
  // How far those of another member do; nothing where there is none, or it is away.
  [[nodiscard]] std::optional<double> phase_beside(CameraId member, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, seen] : phases_) {
      if (id != member && now - seen.at < away) return seen.phase;
    }
    return std::nullopt;
  }
  // So much later is in time, and no reason to be in step.
  [[nodiscard]] std::chrono::nanoseconds jitter() const { return jitter_; }

 private:
  static constexpr std::int64_t second = 1'000'000'000;
  static constexpr double most_ahead = 60;  // sets
  static constexpr std::int64_t most_sets_ahead = 128;
  static constexpr std::int64_t longest_without = 5 * second;  // a member of the present
  static constexpr auto recently = std::chrono::seconds(1);
  static constexpr auto away = std::chrono::seconds(10);  // its process is restarted, or has no CPU
  static constexpr auto begin_together = std::chrono::seconds(2);
  struct Seen {
    std::int64_t set;
    Clock::time_point at;
  };
  struct Phase {
    double phase;
    Clock::time_point at;
  };

  [[nodiscard]] std::chrono::nanoseconds time_of(std::int64_t sets) const {
    return std::chrono::nanoseconds(std::llround(static_cast<double>(sets) * 1e9 / rate_));
  }
  // The set that is farthest among those to which other files have come `within` that time.
  [[nodiscard]] std::optional<Seen> farthest_other(CameraId member, Clock::time_point now,
                                                   std::chrono::nanoseconds within) const {
    std::optional<Seen> farthest;
    for (const auto& [id, seen] : newest_) {
      const bool came = id != member && now - seen.at < within;
      if (came && (!farthest || seen.set > farthest->set)) farthest = seen;
    }
    return farthest;
  }

  void measure(std::int64_t offset, CaptureClock by, std::int64_t arrival) {
    begun_ = true;
    clock_.measure(offset, by, arrival);
  }

  const double rate_;
  const std::int64_t ahead_;
  const std::int64_t behind_;
  const std::chrono::nanoseconds jitter_;
  std::mutex mutex_;
  bool begun_ = false;
  std::optional<std::int64_t> near_at_;  // arrival of the newest packet of the present
  MediaClock clock_;
  std::map<CameraId, Seen> newest_;  // sets of files
  std::map<CameraId, Phase> phases_;
  std::optional<Clock::time_point> began_;  // their first frame
};

}  // namespace campipe
