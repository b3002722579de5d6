// What has to hold in each run, whatever befalls the rig: of the log, of each status that the supervisor sends, and of
// the report at the end.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/clock.h"
#include "tests/sim/fault.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class Checks {
 public:
  explicit Checks(World& world) : world_(world) {}

  // Frames that came are encoded, dropped, or on their way; no count goes back.
  void on_status(const nlohmann::json& status);
  // A line of the supervisor's log. `level`: as spdlog's.
  void on_log(int level, const std::string& line);
  void on_fault(const Fault& fault);
  // A process has sent something that is to be refused.
  void on_lie() { ++lies_; }

  // The run has been calm for long enough: the camera delivers.
  void require_running() const;
  // decoded + repeated = encoded + Σ dropped, each packet is recorded, or known not to be, and some fault explains each
  // loss. `settles`: as the run's course.
  void on_report(const std::string& report, bool settles) const;
  // Three crashes within a minute quarantine a camera, or end its recording.
  [[nodiscard]] bool may_be_quarantined() const { return crashes_ >= 3; }

 private:
  struct Seen {
    std::string state;
    std::string reason;
    std::uint64_t decoded = 0;
    std::uint64_t encoded = 0;
    std::uint64_t recorded = 0;
    Clock::time_point encoded_since;  // when that grew last
  };

  [[nodiscard]] bool is_quarantined() const;
  [[nodiscard]] bool explains(const std::string& cause, bool settles) const;

  World& world_;
  std::array<bool, parts> befallen_{};  // by a fault
  bool paused_ = false;
  bool hangs_ = false;    // some process may
  bool hinders_ = false;  // some fault may be there still, or again
  std::map<std::string, Seen> cameras_;
  unsigned lies_ = 0;
  unsigned refused_ = 0;
  unsigned crashes_ = 0;
};

}  // namespace campipe::sim
