// The synchronised groups of the rig: a page for each (ipc/group_page.h), and which place in it each camera has.
// Cameras that have the same rules under the same name are of one group: while rules change, the old group and the new
// one are two. Used by the supervisor's thread.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <optional>

#include "app/config/group_config.h"
#include "core/clock.h"
#include "ipc/group_page.h"
#include "ipc/ids.h"

namespace campipe {

class SyncGroups {
 public:
  struct Seat {
    const GroupPage* page = nullptr;
    unsigned place = 0;
    bool from_start = false;  // the group has begun just now
  };

  // The camera's, whom the others expect from now on; made where there is none yet. Throws Error where there is no
  // memory, or no place.
  Seat join(CameraId camera, const GroupConfig& config);
  // Nobody waits for the camera any more, until it joins again in its place.
  void leave(CameraId camera);
  // Its place is free.
  void forget(CameraId camera);

 private:
  struct Group {
    GroupConfig config;
    std::shared_ptr<GroupPage> page;
    std::array<std::optional<CameraId>, GroupPage::max_members> members;
    Clock::time_point begun = Clock::now();
  };
  std::list<Group> groups_;
};

}  // namespace campipe
