// Whether what is made on demand is wanted: while a viewer watches one of some outputs, and for a few seconds more.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "ipc/rig_page.h"

namespace campipe {

// Used by one thread, which asks again and again.
class Demand {
 public:
  static constexpr auto kept_for = std::chrono::seconds(5);  // who changes pages comes back before all is gone

  // Without outputs there is no demand.
  Demand(const std::vector<OutputId>& outputs, const RigPage& page) {
    for (const OutputId output : outputs) audiences_.push_back(&page.shared(output).audience);
  }

  bool is_there() {
    const auto now = Clock::now();
    const auto watched = [](const Audience* audience) { return audience->watches != 0; };
    if (std::ranges::any_of(audiences_, watched)) watched_at_ = now;
    return watched_at_ && now < *watched_at_ + kept_for;
  }

 private:
  std::vector<const Audience*> audiences_;
  std::optional<Clock::time_point> watched_at_;  // last
};

}  // namespace campipe
