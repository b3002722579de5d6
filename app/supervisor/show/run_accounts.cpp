#include "app/supervisor/show/run_accounts.h"

#include <algorithm>
#include <utility>

#include "app/supervisor/show/report.h"

namespace campipe {
namespace {

constexpr auto report_interval = std::chrono::minutes(1);
constexpr auto memory_interval = std::chrono::seconds(10);           // the kernel walks through all of it each time
constexpr auto memory_interval_of_report = std::chrono::seconds(5);  // which has the largest sum
constexpr auto last_sample = std::chrono::milliseconds(250);
constexpr auto sample_poll = std::chrono::milliseconds(5);

}  // namespace

RunAccounts::RunAccounts(RigState& rig, Processes& processes, Port& port)
    : rig_(rig), processes_(processes), port_(port), memory_(port.memory()) {
  if (rig.options.report) report_ = port.open_report(*rig.options.report);
}

void RunAccounts::sample_memory() {
  take_sample();
  if (Clock::now() >= next_sample_) request_sample();
}

void RunAccounts::request_sample() {
  if (memory_.busy()) return;
  next_sample_ = Clock::now() + (report_ ? memory_interval_of_report : memory_interval);
  sampled_.clear();
  std::vector<pid_t> pids{port_.own_pid()};
  for (ManagedProcess& process : processes_.all()) {
    if (!process.child) process.memory_mib = 0;
    if (!process.child) continue;
    sampled_.push_back(&process);
    pids.push_back(process.child->pid());
  }
  memory_.request(std::move(pids));
}

void RunAccounts::take_sample() {
  const auto found = memory_.take();
  if (!found) return;
  own_memory_mib_ = found->at(0);
  double sum = own_memory_mib_;
  for (std::size_t i = 0; i < sampled_.size(); ++i) sum += sampled_[i]->memory_mib = found->at(i + 1);
  max_memory_mib_ = std::max(max_memory_mib_, sum);
}

// A sampler that hangs is not waited for.
bool RunAccounts::sampled_at_the_end(Clock::time_point over_since) {
  if (!std::exchange(last_asked_, true)) request_sample();
  take_sample();
  rig_.next_tick = Clock::now() + sample_poll;
  return !memory_.busy() || Clock::now() - over_since > last_sample;
}

double RunAccounts::cpu_seconds() const {
  double sum = port_.own_cpu_seconds();
  for (const ManagedProcess& process : processes_.all()) sum += process.cpu_s;
  return sum;
}

std::vector<ProcessStatus> RunAccounts::process_status() const {
  std::vector<ProcessStatus> status{
      {"supervisor", port_.own_pid(), 0, "cpu", port_.own_cpu_seconds(), own_memory_mib_}};
  for (const ManagedProcess& process : processes_.all()) {
    if (!process.child && !process.start_at) continue;
    ProcessStatus& of = status.emplace_back();
    of.role = role_of(process);
    of.restarts = process.restarts;
    of.gpu = process.place.gpu_name;
    of.cpu_s = process.cpu_s;
    if (process.child) {
      of.pid = process.child->pid();
      of.cpu_s += process.child->cpu_seconds();
      of.memory_mib = process.memory_mib;
    } else {
      of.restarts_in_s = std::max(std::chrono::duration<double>(*process.start_at - Clock::now()).count(), 0.0);
    }
  }
  return status;
}

void RunAccounts::write_report_if_due(const std::string& ending) {
  if (report_ && Clock::now() >= next_report_) put_report(ending);
}

void RunAccounts::put_report(const std::string& ending) {
  next_report_ = Clock::now() + report_interval;
  RunReport run;
  run.duration_s = std::chrono::duration<double>(Clock::now() - rig_.started).count();
  run.exit = ending.empty() ? "running" : ending;
  for (const ManagedProcess& process : processes_.all()) {
    if (process.kind != ProcessKind::worker) continue;
    run.workers.push_back({process.number, process.place.gpu_name, process.restarts, process.cpu_s});
  }
  run.source_restarts = processes_.source().restarts;
  run.master_restarts = processes_.restarts(ProcessKind::master);
  run.publisher_restarts = processes_.publisher().restarts;
  run.cpu_s = cpu_seconds();
  run.max_memory_mib = max_memory_mib_;
  report_->put(report_text(rig_report(run, rig_.cameras, rig_.page)));
}

bool RunAccounts::finish(const std::string& ending) {
  if (!report_) return true;
  put_report(ending);
  return report_->finish();
}

}  // namespace campipe
