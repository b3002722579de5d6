// Bounds of time for a rig on a machine that others use, too: what its threads wait for a CPU is not its fault.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/integration/rig_run.h"
#include "tests/unit/cpu_waits.h"

namespace campipe::test {

// Follows all processes of a rig, those that come later, too. Those that live for a moment only may be missed.
class RigWaits {
 public:
  explicit RigWaits(const RigRun& rig) : rig_(rig), waits_(rig.processes()) {}

  // Since it was made.
  [[nodiscard]] std::chrono::nanoseconds so_far() {
    const std::lock_guard lock(mutex_);
    look();
    return waits_.so_far();
  }
  [[nodiscard]] double seconds() { return std::chrono::duration<double>(so_far()).count(); }

 private:
  void look() {
    waits_.add(rig_.processes());
    waits_.look();
  }

  const RigRun& rig_;
  std::mutex mutex_;
  CpuWaits waits_;
  std::condition_variable_any stopped_;
  std::jthread looking_{[this](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      look();
      stopped_.wait_for(lock, stop, std::chrono::milliseconds(200), [] { return false; });
    }
  }};
};

// That the rig has still to do something with, by a status. Who asks a rig to end while it is far behind has it give up
// what is left after a few seconds.
inline std::int64_t frames_in_hands(const nlohmann::json& camera) {
  const nlohmann::json& frames = camera.at("frames");
  std::int64_t in_hands = frames.at("decoded").get<std::int64_t>() - frames.at("encoded").get<std::int64_t>();
  for (const auto& [cause, dropped] : frames.at("dropped").items()) in_hands -= dropped.get<std::int64_t>();
  return in_hands;
}
inline constexpr std::int64_t few_in_hands = 8;

// Frames of it were dropped since its queue was full, whatever for.
inline bool was_late(const nlohmann::json& camera) { return camera.at("frames").at("dropped").contains("queue_full"); }

// For EXPECT_EQ: empty, or what a camera of `rate` frames a second lost, other than those that the rig, without a CPU,
// was late for. `waits`: since the rig began.
inline std::string check_late_only(const nlohmann::json& camera, double rate, RigWaits& waits) {
  std::uint64_t lost = 0;
  std::uint64_t late = 0;  // to its worker, or in a group to its set
  for (const auto& [cause, frames] : camera.at("frames").at("dropped").items()) {
    lost += frames.get<std::uint64_t>();
    if (cause == "queue_full" || cause == "late") late += frames.get<std::uint64_t>();
  }
  if (lost == late && static_cast<double>(late) <= rate * waits.seconds()) return "";
  return camera.dump() + ", and the rig waited " + std::to_string(waits.seconds()) + " s for a CPU";
}

}  // namespace campipe::test
