#include "app/supervisor/moving/balance_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace campipe {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr unsigned late_enough = 2;  // windows
constexpr auto stay = minutes(1);
constexpr auto no_return = minutes(10);
constexpr std::size_t most_moves = 6;  // in a minute
constexpr auto longest_hold = seconds(30);
constexpr auto trial = seconds(20);  // a worker that is late so soon after it got a camera got too much
constexpr auto first_backoff = minutes(1);
constexpr auto longest_backoff = minutes(16);
constexpr double too_small = 0.02;   // cores: no such camera makes a difference
constexpr double more = 1.2;         // what a camera needs elsewhere may be more than it is here
constexpr double spare_part = 0.05;  // of its cores, that a worker is to have left
constexpr double burst_part = 0.1;   // likewise, that its cameras do not need once it was late
constexpr auto burst_time = minutes(2);
constexpr double full_gpu = 0.7;  // by prediction, which may be too low
constexpr double most_of_gpu = 0.8;

double part_of(double part, const MeasuredLoad::Worker& worker) {
  return part * static_cast<double>(worker.of.cores.size());
}

bool share_cores(const MeasuredLoad::Worker& one, const MeasuredLoad::Worker& other) {
  return std::ranges::any_of(
      one.of.cores, [&](unsigned core) { return std::ranges::find(other.of.cores, core) != other.of.cores.end(); });
}

// Cores for which frames of these are late.
double unserved(const MeasuredLoad::Camera& camera) { return std::max(camera.needs - camera.used, 0.0); }

}  // namespace

void BalancePolicy::Backoff::fail(Clock::time_point now) {
  length = std::clamp<Clock::duration>(2 * length, first_backoff, longest_backoff);
  until = now + length;
}

BalancePolicy::Decision BalancePolicy::look_at(const RigLoad& load, Clock::time_point now) {
  follow_moves(load, now);
  auto measured = window_.look_at(load, now);
  if (!measured) return {};
  measured_ = std::move(*measured);
  std::erase_if(workers_, [&](const auto& known) {
    return std::ranges::none_of(measured_.workers, [&](const Worker& one) { return one.of.number == known.first; });
  });
  for (const Worker& worker : measured_.workers) judge(worker, now);
  std::vector<const Worker*> late;
  Decision decision;
  for (const Worker& worker : measured_.workers) {
    WorkerState& state = workers_.at(worker.of.number);
    state.may_be_relieved = (!worker.late || is_short(worker)) && choose(worker, now).camera != nullptr;
    if ((is_short(worker) && state.late_windows >= late_enough) || state.full_since) late.push_back(&worker);
    if (!state.late_since) state.said_stuck = false;
  }
  const bool busy = std::ranges::any_of(load.cameras, &RigLoad::Camera::busy);
  while (!moves_.empty() && now - moves_.front() >= minutes(1)) moves_.pop_front();
  for (const Worker* worker : late) {
    if (auto reason = worker->late ? stuck(*worker, now) : std::nullopt;
        reason && !std::exchange(workers_.at(worker->of.number).said_stuck, true))
      decision.stuck.push_back(std::move(*reason));
    if (decision.move || pending_ || busy || moves_.size() >= most_moves) continue;
    const auto [camera, to] = choose(*worker, now);
    if (camera == nullptr) continue;
    decision.move = Move{camera->of.name, worker->of.number, to->of.number, reason_for(*worker, *to, now)};
  }
  if (decision.move) {
    pending_ = decision.move;
    moves_.push_back(now);
  }
  for (const Worker& worker : measured_.workers) workers_.at(worker.of.number).idle_before = worker.idle;
  return decision;
}

std::string BalancePolicy::reason_for(const Worker& from, const Worker& to, Clock::time_point now) const {
  const bool by_gpu = share_cores(from, to);
  const std::string room = by_gpu
                               ? fmt::format("the GPU of worker {} has more time", to.of.number)
                               : fmt::format("worker {} has {:.1f} of {} core{} left", to.of.number, room_of(to, now),
                                             to.of.cores.size(), to.of.cores.size() > 1 ? "s" : "");
  if (!from.late) return fmt::format("worker {} was late, and has next to nothing left, {}", from.of.number, room);
  return fmt::format("worker {} is late ({}), {}", from.of.number, from.reason, room);
}

// Also those that somebody else has asked for.
void BalancePolicy::follow_moves(const RigLoad& load, Clock::time_point now) {
  std::erase_if(cameras_, [&](const auto& known) {
    return std::ranges::find(load.cameras, known.first, &RigLoad::Camera::name) == load.cameras.end();
  });
  if (pending_ && std::ranges::find(load.cameras, pending_->camera, &RigLoad::Camera::name) == load.cameras.end())
    pending_.reset();
  for (const RigLoad::Camera& camera : load.cameras) {
    const bool asked = pending_ && pending_->camera == camera.name;
    if (!camera.stays.empty()) {  // maybe another one of that name by now
      if (asked) pending_.reset();
      continue;
    }
    const auto [known, is_new] = cameras_.try_emplace(camera.name);
    CameraState& state = known->second;
    if (is_new) state.worker = camera.worker;
    if (state.worker != camera.worker) {
      note_move(state, state.worker, camera.worker, now);
      if (asked) pending_.reset();
    } else if (asked && !camera.busy) {
      state.failed.fail(now);
      workers_[pending_->to].no_room.fail(now);
      pending_.reset();
    }
  }
}

void BalancePolicy::note_move(CameraState& state, unsigned from, unsigned to, Clock::time_point now) {
  state.worker = to;
  state.moved = now;
  state.left[from] = now;
  state.failed = {};
  for (const unsigned number : {from, to}) {
    WorkerState& worker = workers_[number];
    worker.late_windows = 0;
    worker.late_since.reset();
    worker.idle_before.reset();
  }
  workers_[to].full_since.reset();
  workers_[to].got_camera = now;
  window_.restart();
}

void BalancePolicy::judge(const Worker& worker, Clock::time_point now) {
  WorkerState& state = workers_[worker.of.number];
  state.late_windows = worker.late ? state.late_windows + 1 : 0;
  if (!worker.late) state.late_since.reset();
  if (worker.late && !state.late_since) state.late_since = now;
  if (worker.is_full() && state.late_windows >= late_enough) state.full_since = now;
  // Not by what is idle, which another program may use that leaves it to these cameras when they need it.
  const bool over = state.full_since && now - *state.full_since > burst_time;
  if (worker.needs + part_of(burst_part, worker) <= static_cast<double>(worker.of.cores.size()) || over)
    state.full_since.reset();
  if (!state.got_camera) return;
  if (now - *state.got_camera > trial) {
    state.got_camera.reset();
    state.no_room = {};
  } else if (state.late_windows >= late_enough && is_short(worker)) {
    state.got_camera.reset();
    state.no_room.fail(now);
  }
}

// Cores; none where it is not known to have been idle for two windows. It may have some and be late: with a camera that
// no number of them would make faster.
double BalancePolicy::room_of(const Worker& worker, Clock::time_point now) const {
  const WorkerState& state = workers_.at(worker.of.number);
  if (is_short(worker) || !state.idle_before || now < state.no_room.until) return 0;
  const double idle = std::min(worker.idle, *state.idle_before);
  return measured_.spare ? std::clamp(*measured_.spare, 0.0, idle) : idle;
}

bool BalancePolicy::is_short(const Worker& worker) const {
  return worker.late && (worker.is_full() || (worker.of.on_gpu && worker.gpu >= full_gpu));
}

bool BalancePolicy::lacks_cores(const Worker& worker) const {
  return worker.is_full() || workers_.at(worker.of.number).full_since;
}

bool BalancePolicy::has_room_for(const Worker& to, const Worker& from, const Camera& camera,
                                 Clock::time_point now) const {
  if (is_short(to)) return false;
  if (to.of.on_gpu && to.gpu + camera.of.gpu > most_of_gpu) return false;
  const bool shared = share_cores(to, from);
  // Where the cores are not what is short, they may be the same ones.
  if (shared) return !lacks_cores(from) && from.of.on_gpu && to.gpu + camera.of.gpu < from.gpu;
  return more * camera.needs + part_of(spare_part, to) <= room_of(to, now);
}

const BalancePolicy::Worker* BalancePolicy::best_for(const Camera& camera, const Worker& from,
                                                     Clock::time_point now) const {
  const auto state = cameras_.find(camera.of.name);
  const Worker* best = nullptr;
  for (const Worker& to : measured_.workers) {
    const bool reachable = std::ranges::find(camera.of.others, to.of.number) != camera.of.others.end();
    if (!reachable || !has_room_for(to, from, camera, now)) continue;
    if (state != cameras_.end()) {
      const auto left = state->second.left.find(to.of.number);
      if (left != state->second.left.end() && now - left->second < no_return) continue;
    }
    if (best == nullptr || room_of(to, now) > room_of(*best, now)) best = &to;
  }
  return best;
}

bool BalancePolicy::may_go(const Camera& camera, Clock::time_point now) const {
  if (!camera.known || camera.of.busy || camera.of.takes_rest || !camera.of.stays.empty()) return false;
  if (camera.needs < too_small && camera.of.gpu < too_small) return false;
  const auto state = cameras_.find(camera.of.name);
  if (state == cameras_.end()) return true;
  const bool stays = state->second.moved && now - *state->second.moved < stay;
  return !stays && now >= state->second.failed.until;
}

BalancePolicy::Choice BalancePolicy::choose(const Worker& from, Clock::time_point now) const {
  std::vector<const Camera*> its;
  double lacking = part_of(burst_part, from) - from.idle;
  for (const Camera& camera : measured_.cameras) {
    if (camera.of.worker != from.of.number) continue;
    lacking += unserved(camera);
    its.push_back(&camera);
  }
  // What it needs of what is short.
  const bool by_gpu = !lacks_cores(from) && from.of.on_gpu;
  const auto size = [&](const Camera* camera) { return by_gpu ? camera->of.gpu : camera->needs; };
  std::ranges::stable_sort(its, std::less(), size);
  Choice largest;
  for (const Camera* camera : its) {
    if (!may_go(*camera, now)) continue;
    const Worker* to = best_for(*camera, from, now);
    if (to == nullptr) continue;
    largest = {camera, to};
    const bool enough = by_gpu ? from.gpu - camera->of.gpu < full_gpu : camera->needs >= lacking;
    if (enough) break;
  }
  return largest;
}

// There is room elsewhere, but all that it could help are cameras that cannot be moved.
std::optional<std::string> BalancePolicy::stuck(const Worker& worker, Clock::time_point now) const {
  std::string reasons;
  bool room = false;
  for (const Camera& camera : measured_.cameras) {
    if (camera.of.worker != worker.of.number || camera.needs < too_small) continue;
    if (camera.of.stays.empty()) return std::nullopt;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", camera.of.name, camera.of.stays);
    for (const Worker& to : measured_.workers)
      room = room || (to.of.number != worker.of.number && to.of.on_gpu == worker.of.on_gpu &&
                      has_room_for(to, worker, camera, now));
  }
  if (!room) return std::nullopt;
  return fmt::format("worker {} is late ({}), and none of its cameras can go over to one that has room: {}",
                     worker.of.number, worker.reason, reasons);
}

bool BalancePolicy::may_relieve(unsigned worker, Clock::time_point now) const {
  if (pending_ && pending_->from == worker) return true;
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return false;
  const WorkerState& state = found->second;
  const bool held_long = state.late_since && now - *state.late_since > longest_hold;
  return state.may_be_relieved && !held_long;
}

}  // namespace campipe
