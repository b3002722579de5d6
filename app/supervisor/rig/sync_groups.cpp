#include "app/supervisor/rig/sync_groups.h"

#include <algorithm>

#include "core/error.h"

namespace campipe {
namespace {

constexpr auto beginning = std::chrono::seconds(5);  // of a group, whose members are started one after another

unsigned index_in(const auto& members, const auto& place) { return static_cast<unsigned>(place - members.begin()); }

}  // namespace

SyncGroups::Seat SyncGroups::join(CameraId camera, const GroupConfig& config) {
  auto group = std::ranges::find(groups_, config, &Group::config);
  if (group == groups_.end()) {
    groups_.push_back({config, GroupPage::create({config.on_missing, config.max_wait}), {}});
    group = std::prev(groups_.end());
  }
  auto place = std::ranges::find(group->members, std::optional(camera));
  if (place == group->members.end()) place = std::ranges::find(group->members, std::optional<CameraId>());
  if (place == group->members.end()) throw Error("its group '" + config.name + "' has no place for it");
  *place = camera;
  const unsigned index = index_in(group->members, place);
  group->page->add(index);
  return {group->page.get(), index, Clock::now() - group->begun < beginning};
}

void SyncGroups::leave(CameraId camera) {
  for (Group& group : groups_) {
    const auto place = std::ranges::find(group.members, std::optional(camera));
    if (place != group.members.end()) group.page->remove(index_in(group.members, place));
  }
}

void SyncGroups::forget(CameraId camera) {
  leave(camera);
  for (Group& group : groups_) std::ranges::replace(group.members, std::optional(camera), std::optional<CameraId>());
  groups_.remove_if([](const Group& group) {
    return std::ranges::none_of(group.members, [](const auto& member) { return member.has_value(); });
  });
}

}  // namespace campipe
