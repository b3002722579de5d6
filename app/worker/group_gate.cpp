#include "app/worker/group_gate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/control/messages/run_node.h"
#include "app/control/thread_scope.h"
#include "core/failpoint.h"
#include "core/frame_age.h"
#include "core/log.h"
#include "ipc/counter_table.h"
#include "ipc/drop_causes.h"
#include "ipc/encode_block.h"

namespace campipe {
namespace {

constexpr auto longest_wait = std::chrono::seconds(30);   // for the others, with `wait`
constexpr auto longest_finish = std::chrono::seconds(1);  // for what they still decide
constexpr auto finish_spare = std::chrono::milliseconds(200);
constexpr long double second = 1e9L;
constexpr std::uint64_t most_apart = 256;           // sets of members, besides the time that has passed
constexpr double most_in_a_second = 10'000;         // sets of files that are read as fast as they go
constexpr int many_late = 10;                       // frames, one after another
constexpr std::int64_t same_clock = 1'000'000'000;  // ns; a media clock that is farther from UTC is another one

std::int64_t sets_in(std::int64_t time, double rate) {
  return std::llround(static_cast<long double>(time) * rate / second);
}

}  // namespace

GroupGate::GroupGate(const messages::EncodedOutput& output, std::shared_ptr<GroupPage> page, EncodeBlock& block,
                     const OutputEvents& events, Stream& stream)
    : name_(output.config.name),
      group_(output.config.group.value()),
      seat_(output.seat.value()),
      page_(std::move(page)),
      member_(page_, seat_.place),
      phase_(page_, group_.rate),
      block_(block),
      events_(events),
      stream_(stream),
      is_member_(!output.waits) {
  if (is_member_ && seat_.after) continue_after(*seat_.after);
}

void GroupGate::continue_after(const messages::NewestSet& newest) {
  next_ = newest.set + 1;
  origin_ = static_cast<std::int64_t>(newest.set) - sets_in(newest.pts, group_.rate);
}

void GroupGate::go_on(const std::optional<messages::NewestSet>& after) {
  is_member_ = true;
  if (after) continue_after(*after);
}

void GroupGate::hand_over() {
  is_member_ = false;
  left_ = true;
  last_.reset();
}

std::optional<DropCause> GroupGate::leaves_out(const FrameTimes& times) {
  switch (times.set_state) {
    case SetState::own:
      return std::nullopt;
    case SetState::taken:
      return DropCause::rate;
    default:
      return DropCause::out_of_step;
  }
}

std::int64_t GroupGate::time_of(std::int64_t set) const {
  return std::llround(static_cast<long double>(set) * second / group_.rate);
}

void GroupGate::take(const FrameRef& frame, const FrameTimes& times, std::uint64_t number) {
  arrive(frame, times, number);
  while (outcome_ == SetOutcome::open && !events_.abandoned()) {
    events_.beat();
    is_decided(Clock::now() + beat_slice);
  }
  act_on_frame();
}

void GroupGate::arrive(const FrameRef& frame, const FrameTimes& times, std::uint64_t number) {
  own_ = Frame{frame, times, number};
  if (last_ && !stream_.takes(last_->frame)) last_.reset();
  outcome_ = arrive_at_set(times);
}

SetOutcome GroupGate::arrive_at_set(const FrameTimes& times) {
  if (left_) return SetOutcome::encode;
  if (next_ && times.set < *next_) return SetOutcome::late;
  // Its time counts from when it came: frames that wait behind one that waits have their time together with it.
  const auto came = std::chrono::nanoseconds(times.published + times.filtered - times.leased);
  const bool waits = group_.on_missing == OnMissing::wait;
  const auto longest = waits ? std::chrono::nanoseconds(longest_wait) : group_.max_wait;
  return member_.arrive(times.set, times.media_time, Deadline(came) + longest);
}

bool GroupGate::is_decided(Deadline until) {
  if (outcome_ == SetOutcome::open) outcome_ = member_.wait(until);
  return outcome_ != SetOutcome::open;
}

// A set that is still open is never decided: the process leaves.
void GroupGate::act_on_frame() {
  record_decisions();
  if (outcome_ == SetOutcome::broken) {
    go_alone();
    outcome_ = SetOutcome::encode;
  }
  Frame own = std::exchange(own_, std::nullopt).value();
  if (!next_) begin(own.times);
  if (own.times.set < *next_) {
    stream_.drop(DropCause::late);
  } else if (outcome_ == SetOutcome::open) {
    stream_.drop(DropCause::stopped);
  } else {
    act_through(own.times.set, &own, outcome_);
  }
  last_ = std::move(own);
}

// Where the group has begun just now it begins with it, so that all its recordings do.
void GroupGate::begin(const FrameTimes& first) {
  next_ = first.set;
  origin_ = sets_in(first.media_time - first.pts, group_.rate);
  const auto begun = page_->first_set();
  if (!begun || !seat_.from_start || left_) return;
  if (*begun > first.set + most_apart) return;  // it cannot be
  if (*begun > first.set || first.set - *begun < GroupPage::window) next_ = begun;
}

// All sets up to this one, that of `own` if there is one, about which `outcome` is known. False: it has left.
bool GroupGate::act_through(std::uint64_t set, const Frame* own, SetOutcome outcome) {
  if (set - *next_ >= GroupPage::window) next_ = set - GroupPage::window + 1;  // nobody knows of those before
  while (*next_ <= set) {
    const std::uint64_t at = *next_;
    const bool is_own = own != nullptr && at == set;
    const bool in_time = is_own && outcome != SetOutcome::late;
    SetOutcome settled = in_time ? outcome : left_ ? SetOutcome::late : member_.settle(at);
    if (settled == SetOutcome::broken) {
      go_alone();
      settled = is_own ? SetOutcome::encode : SetOutcome::late;
    }
    next_ = at + 1;
    act(at, own, settled, in_time);
    events_.beat();
  }
  record_decisions();
  return !left_;
}

void GroupGate::act(std::uint64_t set, const Frame* own, SetOutcome outcome, bool in_time) {
  const bool is_own = own != nullptr && own->times.set == set;
  if (is_own) note_lateness(in_time);
  if (outcome == SetOutcome::encode) {
    const Frame* const frame = is_own || !last_ ? own : &*last_;
    if (frame != nullptr) encode(set, *frame, !is_own);
  } else if (is_own) {
    stream_.drop(in_time ? DropCause::set_incomplete : DropCause::late);
  }
}

// Once is no reason to write a line: a process was restarted, or the network was slow.
void GroupGate::note_lateness(bool in_time) {
  late_in_a_row_ = in_time ? 0 : late_in_a_row_ + 1;
  if (late_in_a_row_ < many_late) return;
  late_in_a_row_ = 0;
  if (const auto more = late_lines_.pass()) {
    spdlog::warn(
        "{}: its last {} frames came when their sets had been decided, and are left out: its group '{}' waits {:.4g} "
        "ms for a frame, and sets are {:.4g} ms apart; give the group a longer max_wait{}",
        name_, many_late, group_.name, static_cast<double>(group_.max_wait.count()) / 1e6, 1000 / group_.rate, *more);
  }
}

void GroupGate::encode(std::uint64_t set, const Frame& frame, bool repeated) {
  FrameTimes times = frame.times;
  const auto number = static_cast<std::int64_t>(set);
  times.pts = time_of(number - origin_);
  times.media_time = time_of(number);
  times.duration = time_of(1);
  times.set = set;
  if (repeated) {
    times.capture_utc += time_of(number - static_cast<std::int64_t>(frame.times.set));
    times.arrival = times.decoded = times.published = times.leased = times.filtered = now_ns();
    times.decode_cost = times.filter_cost = 0;
    block_.counters.add(Counter::repeated);  // first: a death may lose it, but never find it uncounted
    failpoint("group.repeating");
  }
  times.capture_utc = capture_utc_of(set, times.capture_utc);
  stream_.encode(frame.frame, times, frame.number);
}

// As all members say, where their clock is the time of day: that of files is not, nor is that of a rig whose machine's
// clock was set since it was started.
std::int64_t GroupGate::capture_utc_of(std::uint64_t set, std::int64_t own) {
  const auto taken = phase_.taken(set);
  return taken && std::abs(*taken - own) < same_clock ? *taken : own;
}

void GroupGate::follow() {
  if (!is_member_ || left_ || !next_ || !last_ || !stream_.takes(last_->frame)) return;
  const auto newest = member_.newest_decided(*next_ - 1);
  if (!newest) return;
  // Since it came from the camera: where its worker is slow, it waited long before the master could publish it.
  const FrameTimes& times = last_->times;
  const std::int64_t age = std::max(since_arrival(times), now_ns() - times.published);
  const double passed = static_cast<double>(age) / 1e9;
  const double a_second = group_.on_missing == OnMissing::wait ? most_in_a_second : group_.rate;
  const auto plausible = static_cast<std::uint64_t>(std::max(passed, 0.0) * a_second) + most_apart;
  if (*newest > times.set + plausible) return go_alone();
  act_through(*newest, nullptr, SetOutcome::late);
}

void GroupGate::finish() {
  begin_to_finish();
  for (;;) {
    const std::uint32_t changes = page_->changes();
    if (has_finished()) return;
    page_->wait_for_change(changes, std::min(finishes_at_, Clock::now() + beat_slice));
  }
}

void GroupGate::begin_to_finish() {
  if (!is_member_) return hand_over();
  if (left_) return;
  member_.leave();
  finishes_at_ = Clock::now() + std::min<std::chrono::nanoseconds>(group_.max_wait, longest_finish) + finish_spare;
}

bool GroupGate::has_finished() {
  if (left_) return true;
  const bool company = member_.has_company();
  follow();
  events_.beat();
  if (company && !left_ && Clock::now() < finishes_at_ && !events_.abandoned()) return false;
  left_ = true;
  last_.reset();
  return true;
}

void GroupGate::leave() {
  if (!is_member_) return hand_over();
  if (!std::exchange(left_, true)) member_.leave();
  last_.reset();
}

void GroupGate::go_alone() {
  spdlog::error("{}: the page of its group '{}' is damaged; it goes on alone", name_, group_.name);
  leave();  // the others, for whom it may be whole, wait for it no more
}

void GroupGate::record_decisions() {
  for (const DecidedSet& set : member_.decided()) {
    (set.outcome == SetOutcome::encode ? block_.sets.encoded : block_.sets.dropped).fetch_add(1);
    if (!set.skew) continue;
    block_.sets.skew.record(*set.skew);
    if (*set.skew <= group_.tolerance.count()) continue;
    block_.sets.out_of_tolerance.fetch_add(1);
    if (const auto more = skew_lines_.pass()) {
      spdlog::warn("{}: frames of one set were taken {:.1f} ms apart, and the tolerance is {:.1f} ms{}", group_.name,
                   static_cast<double>(*set.skew) / 1e6, static_cast<double>(group_.tolerance.count()) / 1e6, *more);
    }
  }
  member_.forget_decided();
}

}  // namespace campipe
