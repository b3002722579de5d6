// The supervisor's books at the end of a run: processor time, memory, the report.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "app/report.h"
#include "app/supervisor.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto report_interval = std::chrono::minutes(1);

// Resident memory of a process with each shared page divided among those that map it.
double pss_mib(pid_t pid) {
  std::ifstream rollup("/proc/" + std::to_string(pid) + "/smaps_rollup");
  std::string word;
  while (rollup >> word) {
    if (word != "Pss:") continue;
    double kib = 0;
    rollup >> kib;
    return kib / 1024;
  }
  return 0;  // it is just ending
}

double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

void Supervisor::sample_memory() {
  own_memory_mib_ = pss_mib(::getpid());
  double sum = own_memory_mib_;
  for (Member& member : members_) {
    member.memory_mib = member.child ? pss_mib(member.child->pid()) : 0;
    sum += member.memory_mib;
  }
  max_memory_mib_ = std::max(max_memory_mib_, sum);
}

double Supervisor::cpu_seconds() const {
  double sum = own_cpu_seconds();
  for (const Member& member : members_) sum += member.cpu_s;
  return sum;
}

// A report that cannot be written now may be the next time, and is no reason to end.
void Supervisor::update_report() {
  next_report_ = Clock::now() + report_interval;
  try {
    write_report();
  } catch (const std::exception& error) {
    spdlog::error("{}", error.what());
  }
}

void Supervisor::write_report() {
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
  write_json(*options_.report, rig_report(run, cameras_, page_));
}

}  // namespace campipe
