// One of the supervisor's processes: where it runs, what it may see, and how it has been.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/control/child_process.h"
#include "app/supervisor/rig/restart_policy.h"
#include "app/supervisor/rig/thread_watch.h"
#include "core/frame.h"
#include "ipc/ids.h"

namespace campipe {

struct Camera;
struct Output;

enum class ProcessKind : std::uint8_t { source, master, publisher, worker, cluster, link };

struct ProcessPlace {
  Device gpu;                    // that it works on; none of source and publisher
  std::string gpu_name = "cpu";  // "0", or "cpu"
  std::vector<Device> sees;      // the GPUs that CUDA shows it: without those that were gone when it was started
  int numa_node = -1;
  std::vector<unsigned> cpus;   // empty: not pinned
  std::vector<Device> needs{};  // what it is to see; none: what it sees when it is started for the first time
  bool for_others = false;      // of a worker: for stages and tiles of other nodes' cameras (guest_stages.h)
};

struct ManagedProcess {
  ProcessId id;
  ProcessKind kind = ProcessKind::worker;
  unsigned number = 0;                 // among those of its kind
  std::optional<unsigned> quarantine;  // of a master for cameras that are decoded apart: its number among these
  ProcessPlace place;
  std::unique_ptr<ChildProcess> child;        // null: it does not run
  std::optional<Clock::time_point> start_at;  // it is to run, and is started then
  RestartPolicy policy;
  QuarantinePolicy unexplained;  // crashes of threads that work for no camera
  ThreadWatch watch{process_hangs};
  ChildProcess::CpuTimes main_thread;  // as seen last
  bool hung = false;                   // it is killed because it, or one of its threads, hangs
  bool unneeded = false;               // it is killed because no camera has work for it
  std::string
      ended_since;  // why it is killed for no fault of its own, though cameras have work for it; empty: it is not
  unsigned restarts = 0;
  double cpu_s = 0;  // of those that have died
  double memory_mib = 0;
};

// Source, masters, the cluster's and the process of links do not meet the others there.
inline bool meets_at_barrier(const ManagedProcess& process) {
  return process.kind == ProcessKind::publisher || process.kind == ProcessKind::worker;
}

// One that cameras of the rig are placed on, and moved to.
inline bool is_own_worker(const ManagedProcess& process) {
  return process.kind == ProcessKind::worker && !process.place.for_others;
}

// The publisher has it with each output for itself.
bool has_work(const ManagedProcess& process, const Camera& camera);
bool has_work(const ManagedProcess& process, const Camera& camera, const Output& output);

// "worker 0", "master", as the process list and the log call it.
std::string role_of(const ManagedProcess& process);

}  // namespace campipe
