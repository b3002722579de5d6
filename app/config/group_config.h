// The rules of a synchronised group, whose cameras give their frames in sets (ipc/group_page.h; its keys:
// app/config/keys/group.h).
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>

#include "ipc/group_page.h"

namespace campipe {

// As each of its cameras has them.
struct GroupConfig {
  std::string name;
  double rate = 0;  // of sets, a second
  std::chrono::nanoseconds tolerance = std::chrono::milliseconds(10);
  std::chrono::nanoseconds max_wait = std::chrono::milliseconds(200);
  OnMissing on_missing = OnMissing::repeat;
  friend bool operator==(const GroupConfig&, const GroupConfig&) = default;
};

// How many frames of a member may come while it waits for the others of a set.
inline int frames_within(const GroupConfig& group) {
  return static_cast<int>(std::ceil(std::chrono::duration<double>(group.max_wait).count() * group.rate));
}

}  // namespace campipe
