// How much more or less than predicted encoding a camera takes, measured while it runs: a table does not know what its
// frames show. Used by the supervisor's thread.
//
// Measured is the CPU time of the camera's node, with its codecs' threads, over windows of a second; predicted filters
// and calls are subtracted. What is encoded while somebody watches counts for nobody, so such windows are left out.
// Not measured: cameras with more than one node, by stage or by tile.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "app/supervisor/rig/rig_state.h"
#include "core/clock.h"
#include "ipc/ids.h"

namespace campipe {

// The cores that something takes, of windows of a second: the newest minute.
class CoreSamples {
 public:
  void add(double cores);
  // What 95 % of them are below; nothing before half a minute is known.
  [[nodiscard]] std::optional<double> p95() const;

 private:
  std::deque<double> samples_;
};

class EncodeCosts {
 public:
  explicit EncodeCosts(RigState& rig) : rig_(rig) {}

  // To be called several times a second. Returns whether the costs in RigState have changed.
  bool follow();

 private:
  // Sums since the rig began.
  struct Sums {
    NodeId node;
    std::int64_t cpu_time = 0;
    std::uint64_t came = 0;
    std::uint64_t dropped = 0;
    std::uint64_t encoded = 0;
    std::uint64_t for_viewers = 0;  // frames of outputs on demand
  };
  struct Measured {
    Sums before;
    CoreSamples cores;
    unsigned new_samples = 0;
  };

  [[nodiscard]] std::optional<Sums> sums_of(const Camera& camera) const;
  void look_at(const Camera& camera, double seconds);
  bool enter(const Camera& camera, Measured& measured);

  RigState& rig_;
  std::map<CameraId, Measured> cameras_;
  Clock::time_point looked_ = Clock::now();
};

}  // namespace campipe
