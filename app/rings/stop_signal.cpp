#include "app/rings/stop_signal.h"

#include <algorithm>

#include "app/control/thread_scope.h"

namespace campipe {
namespace {

constexpr auto drain_deadline = std::chrono::nanoseconds(std::chrono::seconds(2));

}  // namespace

void StopSignal::stop() {
  std::int64_t not_yet = 0;
  stop_at_.compare_exchange_strong(not_yet, now_ns());
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void StopSignal::give_up() {
  stop_at_ = 1;  // long ago
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void StopSignal::leave() {
  left_ = true;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

bool StopSignal::given_up() const {
  const std::int64_t stopped_at = stop_at_.load();
  return stopped_at != 0 && now_ns() > stopped_at + drain_deadline.count();
}

void StopSignal::beat() { scope_->beat(); }

bool StopSignal::beat_or_stop() {
  beat();
  return stopped() || left();
}

bool StopSignal::beat_or_give_up() {
  beat();
  return given_up() || left();
}

void StopSignal::sleep_until(Deadline due) {
  std::unique_lock lock(mutex_);
  while (!beat_or_stop() && Clock::now() < due) changed_.wait_until(lock, std::min(due, Clock::now() + beat_slice));
}

}  // namespace campipe
