// How long a node may believe that its lease lives. etcd counts from when a keep-alive reached it, the node from when
// it sent the last one that was answered: so the node's time is over first, whatever the network does, and wherever
// clocks are set. What it says is pure arithmetic of the monotonic clock.
//
// That the node's time is over does not mean that the lease is dead: a leader that changes gives all leases their whole
// time again. Only etcd's answer says that.
#pragma once

#include <chrono>

#include "core/clock.h"

namespace campipe {

class LeaseClock {
 public:
  // Effects that must not happen twice (pushes, sources that take one client) end this long before the lease does.
  static constexpr std::chrono::seconds effect_margin{1};

  // A lease that was granted, or kept alive, by a request of that time.
  void answered(Clock::time_point sent, std::chrono::seconds ttl) {
    ttl_ = ttl;
    if (sent + ttl > ends_) ends_ = sent + ttl;
  }
  // A keep-alive that may still be answered.
  void sent(Clock::time_point when) { sent_ = when; }

  // When the next keep-alive is due: every third of the time, whether the last one was answered or not.
  [[nodiscard]] Clock::time_point next() const { return sent_ + std::chrono::nanoseconds(ttl_) / 3; }
  [[nodiscard]] Clock::time_point ends() const { return ends_; }
  [[nodiscard]] bool is_over(Clock::time_point now) const { return now >= ends_; }
  [[nodiscard]] Clock::time_point effects_end() const { return ends_ - effect_margin; }
  [[nodiscard]] bool allows_effects(Clock::time_point now) const { return now < effects_end(); }

 private:
  std::chrono::seconds ttl_{0};
  Clock::time_point sent_{};
  Clock::time_point ends_{};
};

}  // namespace campipe
