// The supervisor's books at the end of a run: processor time, memory, the report.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "app/supervisor/report.h"
#include "app/supervisor/supervisor.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto report_interval = std::chrono::minutes(1);
constexpr auto memory_interval = std::chrono::seconds(5);
constexpr auto last_sample = std::chrono::milliseconds(250);
constexpr auto sample_poll = std::chrono::milliseconds(5);

double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

void Supervisor::request_memory_sample() {
  if (memory_.busy()) return;
  next_memory_sample_ = Clock::now() + memory_interval;
  sampled_.clear();
  std::vector<pid_t> pids{::getpid()};
  for (unsigned i = 0; i < members_.size(); ++i) {
    members_[i].memory_mib = members_[i].child ? members_[i].memory_mib : 0;
    if (!members_[i].child) continue;
    sampled_.push_back(i);
    pids.push_back(members_[i].child->pid());
  }
  memory_.request(std::move(pids));
}

void Supervisor::take_memory_sample() {
  const auto found = memory_.take();
  if (!found) return;
  own_memory_mib_ = found->at(0);
  double sum = own_memory_mib_;
  for (std::size_t i = 0; i < sampled_.size(); ++i) sum += members_[sampled_[i]].memory_mib = found->at(i + 1);
  max_memory_mib_ = std::max(max_memory_mib_, sum);
}

// Once more while all processes are there. A sampler that hangs is not waited for.
bool Supervisor::sampled_at_the_end() {
  const auto now = Clock::now();
  if (!over_since_) {
    over_since_ = now;
    request_memory_sample();
  }
  take_memory_sample();
  next_tick_ = now + sample_poll;
  return !memory_.busy() || now - *over_since_ > last_sample;
}

double Supervisor::cpu_seconds() const {
  double sum = own_cpu_seconds();
  for (const Member& member : members_) sum += member.cpu_s;
  return sum;
}

// A report that cannot be written now may be the next time, and is no reason to end.
void Supervisor::put_report() {
  next_report_ = Clock::now() + report_interval;
  RunReport run;
  run.duration_s = std::chrono::duration<double>(Clock::now() - started_).count();
  run.exit = ending_.empty() ? "running" : ending_;
  for (const Member& member : members_) {
    if (member.kind != Kind::worker) continue;
    run.workers.push_back({member.worker, member.gpu_name, member.restarts, member.cpu_s});
  }
  run.master_restarts = master().restarts;
  run.publisher_restarts = publisher().restarts;
  run.cpu_s = cpu_seconds();
  run.max_memory_mib = max_memory_mib_;
  report_->put(report_text(rig_report(run, cameras_, page_)));
}

}  // namespace campipe
