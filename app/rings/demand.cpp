#include "app/rings/demand.h"

#include <algorithm>

#include "ipc/audience.h"
#include "ipc/rig_page.h"
#include "ipc/shared_block.h"

namespace campipe {

Demand::Demand(const std::vector<OutputId>& outputs, const RigPage& page) {
  for (const OutputId output : outputs) audiences_.push_back(&page.shared(output).audience);
}

bool Demand::is_there() {
  const auto now = Clock::now();
  const auto watched = [](const Audience* audience) { return audience->watches != 0; };
  if (std::ranges::any_of(audiences_, watched)) watched_at_ = now;
  return watched_at_ && now < *watched_at_ + kept_for;
}

}  // namespace campipe
