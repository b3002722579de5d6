// The processes of a rig by number, and how many of each kind there can be.
#pragma once

#include "ipc/barrier.h"
#include "ipc/ids.h"

namespace campipe {

// The processes that beat. Workers are 3, 4, … Publisher and workers take part in the barrier. The first master is
// there in every rig: it decodes on the CPU. Further ones come as they are needed.
inline constexpr ProcessId source_process{0};
inline constexpr ProcessId master_process{1};
inline constexpr ProcessId publisher_process{2};
constexpr ProcessId worker_process(unsigned worker) { return ProcessId(publisher_process.index() + 1 + worker); }
inline constexpr unsigned max_workers = Barrier::max_participants - 1;  // the publisher takes part as well
inline constexpr unsigned max_gpu_masters = 64;                         // one for each GPU that decodes
inline constexpr unsigned max_quarantines = 8;                          // for cameras that are decoded apart
inline constexpr unsigned max_masters = 1 + max_gpu_masters + max_quarantines;
constexpr ProcessId master_process_of(unsigned number) {
  return number == 0 ? master_process : ProcessId(worker_process(max_workers).index() + number - 1);
}
// Of a rig that is a node of a cluster; it works for no camera.
inline constexpr ProcessId cluster_process = master_process_of(max_masters);
constexpr bool is_master(ProcessId process) {
  return process == master_process || (process >= master_process_of(1) && process < cluster_process);
}
// Likewise: the ends of links to other nodes.
inline constexpr ProcessId link_process{cluster_process.index() + 1};
inline constexpr unsigned max_processes = link_process.index() + 1;
constexpr unsigned participant_of(ProcessId process) { return process.index() - publisher_process.index(); }

}  // namespace campipe
