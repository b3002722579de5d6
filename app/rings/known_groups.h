// The clocks of the groups whose members a process has.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "app/rings/group_clock.h"

namespace campipe {

// Used by one thread.
class KnownGroups {
 public:
  // That of those members that are there; those that end by other rules have one of their own.
  std::shared_ptr<GroupClock> clock_of(const GroupConfig& group) {
    Known& known = groups_[group.name];
    auto clock = known.clock.lock();
    if (!clock || known.rules != group) known = {group, clock = std::make_shared<GroupClock>(group)};
    return clock;
  }

 private:
  struct Known {
    GroupConfig rules;
    std::weak_ptr<GroupClock> clock;
  };
  std::map<std::string, Known> groups_;  // by name
};

}  // namespace campipe
