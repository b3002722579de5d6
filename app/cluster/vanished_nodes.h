// Which nodes that are away are waited for. A node whose lease has ended is given up at once: its cameras go elsewhere.
// But where more than half of the nodes vanish together, that is rather a network or etcd than the nodes, and what is
// left could not carry their cameras: then one more lease is waited for. Their leases end within a third of one, since
// that is how often each node prolongs its own: so where several vanish, it takes a moment to see whether most do, and
// none of them is given up meanwhile. Pure arithmetic; one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/clock.h"

namespace campipe {

class VanishedNodes {
 public:
  explicit VanishedNodes(Clock::duration lease) : lease_(lease) {}

  struct View {
    std::set<std::string> waited_for{};
    std::optional<Clock::time_point> look_again{};  // when one of them is given up
  };
  // `present`: the nodes whose offers are there. `with_cameras`: those that the plan names. To be called whenever one
  // of them changes, and when it asks for it. At the first call, all that are named and not present vanish.
  View look(const std::set<std::string>& present, const std::set<std::string>& with_cameras, Clock::time_point now);

 private:
  struct Vanished {
    Clock::time_point at;
    std::optional<Clock::time_point> wait_until{};
  };
  Clock::duration lease_;
  std::set<std::string> present_;  // at the last look
  std::map<std::string, Vanished> vanished_;
};

}  // namespace campipe
