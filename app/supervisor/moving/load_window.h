// How much each worker and each camera has to do, measured over windows of two seconds: pure functions of counters and
// times, so that they can be tested without processes.
//
// A camera's need is its node's CPU time for a frame times the frames that are to come a second: also of frames that
// were dropped, which took no time. What a worker has left is what its cores were idle, whoever else uses them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "ipc/ids.h"

namespace campipe {

// Of a rig that runs: sums since it began, and what holds now.
struct RigLoad {
  struct Worker {
    unsigned number = 0;
    bool on_gpu = false;
    std::vector<unsigned> cores;  // that it may use; at least one
    double idle_s = 0;            // time that these had left
  };
  // A camera's node in a worker.
  struct Camera {
    std::string name;
    NodeId node;
    unsigned worker = 0;
    std::vector<unsigned> others = {};  // workers that could have it
    std::string stays = {};             // why it is in no other one, whatever comes; empty: it may be moved
    bool busy = false;                  // it is being moved, or changed: not now
    double cpu_s = 0;                   // that the node used
    std::uint64_t came = 0;             // frames
    std::uint64_t late = 0;             // those of them that found its queue full
    bool source_waits = false;          // for room in its queue, and should not have to
    double rate = 0;                    // frames a second that its source has, where it may wait; 0: those that come
    bool takes_rest = false;            // it is as fast as it can be: never late, and never done
    double gpu = 0;                     // predicted part of a GPU's time that it needs
  };
  std::vector<Worker> workers;
  std::vector<Camera> cameras;
  std::optional<double> most_cores = {};  // that a cgroup allows all processes together
  double used_s = 0;                      // by these; of meaning only with `most_cores`
};

// Of one window.
struct MeasuredLoad {
  struct Camera {
    RigLoad::Camera of;
    bool known = false;  // frames have come, and it is where it was when the window began
    bool late = false;   // more than one in fifty of its frames were, or its source waited all the time
    double late_part = 0;
    double used = 0;   // cores
    double needs = 0;  // cores, if none of its frames were late
  };
  struct Worker {
    RigLoad::Worker of;
    double idle = 0;       // cores
    double needs = 0;      // cores, of its cameras together
    double gpu = 0;        // predicted part of its GPU's time
    bool late = false;     // one of its cameras is
    std::string reason;    // which, and how much
    bool is_full() const;  // its cores
  };
  std::vector<Worker> workers;
  std::vector<Camera> cameras;
  std::optional<double> spare;  // cores that a cgroup leaves
};

class LoadWindow {
 public:
  // To be called about once a second. Nothing: the window has not ended.
  std::optional<MeasuredLoad> look_at(const RigLoad& load, Clock::time_point now);
  // Another one begins with the next look.
  void restart() { begun_.reset(); }

 private:
  struct Counted {
    std::string name;  // whose: ids are used again
    unsigned worker = 0;
    double cpu_s = 0;
    std::uint64_t came = 0;
    std::uint64_t late = 0;
    bool always_waits = true;
    std::optional<double> per_frame = {};  // s, as measured last
    double since_s = 0;                    // what frames took since then,
    std::uint64_t since = 0;               // and their number
  };
  MeasuredLoad measure(const RigLoad& load, double seconds);
  MeasuredLoad::Camera measure(const RigLoad::Camera& camera, double seconds);
  void begin(const RigLoad& load, Clock::time_point now);

  std::optional<Clock::time_point> begun_;
  std::map<unsigned, double> idle_;    // then, by worker
  std::map<NodeId, Counted> counted_;  // likewise
  double used_s_ = 0;
};

}  // namespace campipe
