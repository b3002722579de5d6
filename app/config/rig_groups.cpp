#include "app/config/rig_groups.h"
#include "app/config/rig_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace campipe {
namespace {

double milliseconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

std::string what_of_missing(const GroupConfig& rules) {
  const double wait = milliseconds_of(rules.max_wait);
  switch (rules.on_missing) {
    case OnMissing::repeat:
      return fmt::format("for a frame that is missing after {:.4g} ms, the camera's last one is repeated", wait);
    case OnMissing::drop:
      return fmt::format("a set that lacks a frame after {:.4g} ms is dropped", wait);
    case OnMissing::wait:
      return "all wait for a frame that is missing, for up to 30 s";
  }
  return "";
}

}  // namespace

std::vector<RigGroup> groups_of(const RigConfig& rig) {
  std::vector<RigGroup> groups;
  for (const CameraConfig& camera : rig.cameras) {
    if (!camera.group) continue;
    const auto has_name = [&](const RigGroup& group) { return group.rules.name == camera.group->name; };
    auto group = std::ranges::find_if(groups, has_name);
    if (group == groups.end()) group = groups.insert(groups.end(), {*camera.group});
    group->cameras.push_back(camera.name);
  }
  return groups;
}

std::string describe(const RigGroup& group) {
  return fmt::format("group {}: {}; {:.4g} sets a second, of frames up to {:.4g} ms apart; {}", group.rules.name,
                     fmt::join(group.cameras, ", "), group.rules.rate, milliseconds_of(group.rules.tolerance),
                     what_of_missing(group.rules));
}

}  // namespace campipe
