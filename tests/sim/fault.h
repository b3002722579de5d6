// What goes wrong in a run: a list that depends on the seed alone, and of which any part can be left out, so that a
// failing run can be shrunk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/change.h"
#include "tests/sim/mover.h"
#include "tests/sim/world.h"

namespace campipe::sim {

// Whom a fault befalls, and which processes a rig has.
enum class Part : std::uint8_t { source, master, worker, publisher, cluster };
inline constexpr std::size_t parts = 5;
inline constexpr std::size_t common_parts = 4;  // the first ones; the other one is of a node of a cluster
const char* name_of(Part part);

enum class FaultKind : std::uint8_t {
  kill,          // the process gets SIGKILL
  crash,         // SIGSEGV on the thread that works for the camera, noted on its page
  exits,         // it leaves with status 1
  silent,        // its main thread hangs: no heartbeat, no messages; the camera's thread works
  stopped,       // SIGSTOP, and SIGCONT later
  slow,          // everything takes it ten times as long
  late,          // its messages take seconds, both ways
  deaf,          // it reads no messages: the supervisor's have no room any more
  lies,          // it sends what it has no business to send
  start_fails,   // it cannot be started, a few times
  slow_death,    // when it is killed the next time, that takes seconds
  camera_away,   // the camera goes away and returns
  pause,         // the supervisor itself does not run; or, every second time, nothing of the machine
  disk_full,     // recordings find no room on their disk for a while, or one fails for good
  targets_away,  // push targets go away and return
  context_lost,  // the process loses its context on its GPU, which has nothing
  gpu_away,      // a GPU goes away and returns; from the beginning on: it is missing when the rig starts
  cut_off,       // the node does not reach etcd
  name_taken,    // another campipe has the node's name
  given_away,    // a camera of the node's is another node's for a while
};
inline constexpr std::size_t fault_kinds = 15;  // without those of GPUs and clusters
// The first ones. The others are of rigs whose configuration is changed.
inline constexpr std::size_t common_fault_kinds = 13;
const char* name_of(FaultKind kind);
bool befalls_process(FaultKind kind);
bool is_of_gpu(FaultKind kind);
// It befalls the cluster, and nothing of this machine.
bool is_of_cluster(FaultKind kind);
// The process is gone at once, and nothing else.
bool is_death(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kill;
  Part part = Part::source;
  nanoseconds at{0};     // since the beginning
  nanoseconds lasts{0};  // where it has a length
  std::uint64_t detail = 0;
  std::uint64_t process = 0;  // which one of the part's, modulo their number
  std::uint64_t camera = 0;   // which one of the process's, or of the rig's, likewise; of `gpu_away`: which GPU
};
// Frames wait for the process.
bool makes_late(FaultKind kind);
// It befalls one process.
bool is_of_process(FaultKind kind);
// All cameras go away, and not just one.
bool is_of_all_cameras(const Fault& away);
// A pause, of all processes.
bool stops_machine(const Fault& pause);
// A disk that does not come back, of `disk_full`.
bool breaks_disk(const Fault& fault);
std::string describe(const Fault& fault);

struct Course {
  nanoseconds ends{0};  // SIGTERM comes
  bool settles = true;  // faults end so early that all has to be well again by then
  std::vector<Fault> faults;
  std::vector<MoveWish> moves;
  std::vector<Change> changes;
  std::vector<Fault> gpu_faults = {};       // of rigs with GPUs: they become some of `faults`,
  std::vector<Fault> cluster_faults = {};   // and these of nodes of a cluster
  std::vector<Change> changes_of_all = {};  // of rigs in which all can be changed, in place of `changes`
};
// From calling off all faults until the camera delivers: the longest wait before a restart (30 s), the time until a
// silent start is found (15 s), and that until a camera is connected again.
inline constexpr auto longest_recovery = seconds(60);
// `kinds`: of the first so many.
Course course_of(std::uint64_t seed, nanoseconds length, std::size_t kinds);

}  // namespace campipe::sim
