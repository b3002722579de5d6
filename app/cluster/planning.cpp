#include "app/cluster/planning.h"

#include <spdlog/spdlog.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/error.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr auto try_again = 1s;  // where etcd could not be written to

}  // namespace

Planning::Planning(EtcdServers servers, ClusterKeys keys, Clock::duration lease)
    : servers_(std::move(servers)),
      keys_(std::move(keys)),
      lease_(lease),
      done_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!done_) throw system_error("eventfd", errno);
  static_cast<void>(EtcdClient(servers_));  // so that what is wrong with them is known here
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Planning::~Planning() = default;

void Planning::plan(Snapshot snapshot) {
  const std::lock_guard lock(mutex_);
  next_ = std::move(snapshot);
  rest_ = false;
  wakeup_.notify_all();
}

void Planning::rest() {
  const std::lock_guard lock(mutex_);
  next_.reset();
  rest_ = true;
  result_ = {};
  wakeup_.notify_all();
}

Planning::Result Planning::take() {
  std::uint64_t ignored = 0;
  const std::lock_guard lock(mutex_);
  static_cast<void>(::read(done_.get(), &ignored, sizeof ignored));
  Result taken = result_;
  result_.moves.clear();
  return taken;
}

void Planning::run(const std::stop_token& stop) {
  EtcdClient client(servers_, stop);
  std::optional<Snapshot> snapshot;
  while (!stop.stop_requested()) {
    bool is_due = false;
    {
      std::unique_lock lock(mutex_);
      const auto is_called = [&] { return next_.has_value() || rest_; };
      if (snapshot && look_again_) {
        wakeup_.wait_until(lock, stop, *look_again_, is_called);
      } else {
        wakeup_.wait(lock, stop, is_called);
      }
      if (std::exchange(rest_, false)) {
        snapshot.reset();
        planner_.reset();
      }
      is_due = next_.has_value() || (look_again_ && Clock::now() >= *look_again_);
      if (next_) snapshot = std::exchange(next_, std::nullopt);
    }
    if (snapshot && is_due && !stop.stop_requested()) carry_out(*snapshot, client);
  }
}

void Planning::carry_out(const Snapshot& snapshot, EtcdClient& client) {
  if (!planner_ || planner_is_ != snapshot.candidacy) planner_.emplace(lease_);
  planner_is_ = snapshot.candidacy;
  const StoredPlan stored = read_plan(snapshot.mirror, keys_);
  ClusterPlanner::Decision decision = planner_->decide(snapshot.mirror, keys_, stored, snapshot.cameras, Clock::now());
  PlanWriteResult written = write_plan(client, keys_, snapshot.candidacy, stored, decision.wanted);
  look_again_ = decision.look_again;
  // The snapshot may be the newest one all the same. Where it is old, the next one comes by itself.
  const bool is_in_trouble = written.outcome == PlanWritten::failed || written.outcome == PlanWritten::unknown;
  if (is_in_trouble) look_again_ = std::min(Clock::now() + try_again, look_again_.value_or(Clock::time_point::max()));

  const std::lock_guard lock(mutex_);
  if (rest_) return;
  result_.waited_for = std::move(decision.waited_for);
  result_.problem = is_in_trouble ? std::move(written.message) : std::string();
  if (written.outcome == PlanWritten::done) {
    std::ranges::move(decision.moves, std::back_inserter(result_.moves));
  }
  constexpr std::uint64_t one = 1;
  static_cast<void>(::write(done_.get(), &one, sizeof one));
}

}  // namespace campipe
