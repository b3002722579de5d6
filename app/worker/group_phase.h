// When the sets of a synchronised group were taken, as all its members say: set n at n / rate by the media clock, and
// later than that by how far their frames lie behind it: of each set the mean of all members' frames, and of the newest
// sets the median, for which a frame that a camera took late counts little. It is made from what the group's page holds
// of sets that are decided. So each member, in each process and after each death, says the same of a set to the
// nanosecond, whatever its own frame's time is.
//
// Used by the thread of one member.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "ipc/group_page.h"

namespace campipe {

class GroupPhase {
 public:
  // `rate`: of the group's sets, a second.
  GroupPhase(std::shared_ptr<const GroupPage> page, double rate);

  // Of a set that is decided, as are those before it; sets grow. By the media clock, ns; nothing: nobody has had a
  // frame of it or of those before.
  std::optional<std::int64_t> taken(std::uint64_t set);

 private:
  [[nodiscard]] std::optional<std::int64_t> behind(std::uint64_t set) const;
  [[nodiscard]] std::int64_t due(std::uint64_t set) const;

  std::shared_ptr<const GroupPage> page_;
  double rate_;
  std::uint64_t window_;  // sets: those of some seconds
  std::optional<std::uint64_t> newest_;
  std::deque<std::optional<std::int64_t>> behind_;  // of the newest sets, up to `window_`; ns
  std::vector<std::int64_t> known_;                 // those that are known, in the order of their size
};

}  // namespace campipe
