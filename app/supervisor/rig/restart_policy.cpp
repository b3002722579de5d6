#include "app/supervisor/rig/restart_policy.h"

#include <algorithm>

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto makes_up = seconds(10);
constexpr auto first_wait = milliseconds(250);
constexpr std::size_t most_deaths = 12;

constexpr auto fault_window = seconds(60);
constexpr std::size_t most_faults = 3;

}  // namespace

Clock::time_point RestartPolicy::on_death(Clock::time_point started, Clock::time_point now, bool again) {
  if (!again) worked_ += now - started;
  while (!deaths_.empty() && (worked_ - deaths_.front() >= makes_up || deaths_.size() >= most_deaths))
    deaths_.pop_front();
  deaths_.push_back(worked_);
  if (deaths_.size() == 1) return now;
  return now + std::min<Clock::duration>(first_wait * (1 << (deaths_.size() - 2)), longest_wait_);
}

bool QuarantinePolicy::on_fault(Clock::time_point now, Clock::duration unnoticed) {
  for (Clock::time_point& fault : faults_) fault += unnoticed;
  faults_.push_back(now);
  while (now - faults_.front() > fault_window) faults_.pop_front();
  return faults_.size() >= most_faults;
}

}  // namespace campipe
