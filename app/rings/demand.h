// Whether what is made on demand is wanted: while a viewer watches one of some outputs, and for a few seconds more.
#pragma once

#include <optional>
#include <vector>

#include "core/clock.h"
#include "ipc/ids.h"

namespace campipe {

struct Audience;
class RigPage;

// Used by one thread, which asks again and again.
class Demand {
 public:
  static constexpr auto kept_for = std::chrono::seconds(5);  // who changes pages comes back before all is gone

  // Without outputs there is no demand.
  Demand(const std::vector<OutputId>& outputs, const RigPage& page);

  bool is_there();

 private:
  std::vector<const Audience*> audiences_;
  std::optional<Clock::time_point> watched_at_;  // last
};

}  // namespace campipe
