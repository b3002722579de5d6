#include "app/cluster/planning.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/error.h"

namespace campipe {

Planning::Planning(EtcdServers servers, ClusterKeys keys, Clock::duration lease)
    : servers_(std::move(servers)), done_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), maker_(std::move(keys), lease) {
  if (!done_) throw system_error("eventfd", errno);
  static_cast<void>(EtcdClient(servers_));  // so that what is wrong with them is known here
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Planning::~Planning() = default;

void Planning::plan(PlanSnapshot snapshot) {
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

PlanMade Planning::take() {
  std::uint64_t ignored = 0;
  const std::lock_guard lock(mutex_);
  static_cast<void>(::read(done_.get(), &ignored, sizeof ignored));
  PlanMade taken = result_;
  result_.moves.clear();
  return taken;
}

void Planning::run(const std::stop_token& stop) {
  EtcdClient client(servers_, stop);
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      const auto is_called = [&] { return next_.has_value() || rest_; };
      if (const auto due = maker_.due()) {
        wakeup_.wait_until(lock, stop, *due, is_called);
      } else {
        wakeup_.wait(lock, stop, is_called);
      }
      const bool is_due = maker_.take(std::exchange(next_, std::nullopt), std::exchange(rest_, false), Clock::now());
      if (!is_due || stop.stop_requested()) continue;
    }
    PlanMade made = maker_.carry_out(client, [] { return Clock::now(); });
    const std::lock_guard lock(mutex_);
    if (rest_) continue;
    result_.waited_for = std::move(made.waited_for);
    result_.problem = std::move(made.problem);
    std::ranges::move(made.moves, std::back_inserter(result_.moves));
    constexpr std::uint64_t one = 1;
    static_cast<void>(::write(done_.get(), &one, sizeof one));
  }
}

}  // namespace campipe
