// What a run uses, processor time and memory of all its processes, and its report, which has it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/supervisor/port/port.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"
#include "app/supervisor/show/status_json.h"

namespace campipe {

class RunAccounts {
 public:
  // Throws Error where the report cannot be written.
  RunAccounts(RigState& rig, Processes& processes, Port& port);

  // Asks for the processes' memory, and takes what has come out. To be called several times a second.
  void sample_memory();
  // Once more while all processes are there; true when it has come out, or has taken too long.
  [[nodiscard]] bool sampled_at_the_end(Clock::time_point over_since);
  // `ending`: why the run ends; empty: it does not yet. One that cannot be written now may be the next time, and is no
  // reason to end.
  void write_report_if_due(const std::string& ending);
  // False: there was to be one, and it is not written.
  bool finish(const std::string& ending);
  // Of this process and of those that run now.
  [[nodiscard]] std::vector<ProcessStatus> process_status() const;

 private:
  void request_sample();
  void take_sample();
  void put_report(const std::string& ending);
  [[nodiscard]] double cpu_seconds() const;

  RigState& rig_;
  Processes& processes_;
  Port& port_;
  MemorySampler& memory_;
  std::vector<ManagedProcess*> sampled_;  // by the newest request
  std::unique_ptr<ReportWriter> report_;  // null: there is to be none
  Clock::time_point next_sample_{};
  Clock::time_point next_report_{};
  bool last_asked_ = false;  // for the sample at the end
  double own_memory_mib_ = 0;
  double max_memory_mib_ = 0;
};

}  // namespace campipe
