// What has to hold of cameras whose GPU goes away and returns: they deliver elsewhere within their bound, and once it
// has been back for long enough, it is used as before.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/clock.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class GpuWatch {
 public:
  explicit GpuWatch(World& world) : world_(world) {}

  // One goes away, which is back at `until`.
  void on_absence(Clock::time_point until);
  // A look at it fails by itself, so that the next one comes later.
  void on_failed_look() { ++failures_, may_leave_ = true; }
  // A process loses its context, and the GPU has nothing.
  void on_loss() { may_leave_ = std::exchange(was_lost_, true) || may_leave_; }
  void on_status(const nlohmann::json& status);
  // A line of the supervisor's log.
  void on_log(std::string_view line);
  // Where nothing else has gone wrong: when cameras that lost their GPU, or go back to it, have to deliver.
  [[nodiscard]] Clock::time_point delivers_at() const;
  // Long after the last fault; `status`: the newest. `moved`: cameras may be elsewhere as somebody has asked for that.
  void require_back(const nlohmann::json& status, const nlohmann::json& config, bool moved) const;

 private:
  [[nodiscard]] nanoseconds longest_return() const;

  World& world_;
  std::optional<Clock::time_point> first_absence_;
  Clock::time_point back_{};
  Clock::time_point changed_{};  // the newest change of what is here, as the supervisor knows it
  bool was_lost_ = false;
  bool may_leave_ = false;                     // one may be taken for gone
  unsigned failures_ = 0;                      // departures, and looks that failed by themselves
  std::map<std::string, std::string> places_;  // of cameras, before any absence
};

}  // namespace campipe::sim
