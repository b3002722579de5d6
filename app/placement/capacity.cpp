#include "app/placement/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/config/rig_config.h"
#include "core/error.h"

namespace campipe {
namespace {

// What a camera takes does not depend on these.
CameraConfig kind_of(CameraConfig camera) {
  camera.name.clear();
  camera.source.url.clear();
  camera.source.written.clear();
  if (camera.record) camera.record->path.clear();
  for (OutputConfig& output : camera.outputs) {
    if (output.record) output.record->path.clear();
  }
  return camera;
}

// A thread's work, "dock: decoding", is the camera's, or one more's of its kind.
bool is_of(std::string_view work, std::string_view camera) {
  return work.starts_with(camera) && work.size() > camera.size() &&
         (work[camera.size()] == ':' || work[camera.size()] == '+');
}

struct Short {
  std::string resource;
  std::string reason;
};

class Room {
 public:
  Room(const RigConfig& rig, const Machine& machine, const MachineCosts& costs, const KnownStreams& streams)
      : rig_(rig), machine_(machine), costs_(costs), streams_(streams) {}

  // Each one more takes something, so that what is short stays short: first in growing steps, then by halves.
  CameraRoom of(const CameraConfig& camera) {
    const auto cameras = static_cast<unsigned>(std::min<std::size_t>(rig_.cameras.size(), most_cameras));
    unsigned fits = 0;
    unsigned too_many = most_cameras - cameras + 1;
    std::optional<Short> found = find_short(camera, 0);
    if (found) return {camera.name, 0, found->resource, found->reason};
    for (unsigned step = 1; fits + 1 < too_many; step = found ? std::max((too_many - fits) / 2, 1U) : 2 * step) {
      const unsigned tried = std::min(fits + step, too_many - 1);
      if (const auto next = find_short(camera, tried)) {
        found = next;
        too_many = tried;
      } else {
        fits = tried;
      }
    }
    return found ? CameraRoom{camera.name, fits, found->resource, found->reason} : CameraRoom{camera.name, fits};
  }

 private:
  // Estimates count as they are: nothing is refused by this.
  std::optional<Short> find_short(const CameraConfig& camera, unsigned more) {
    RigConfig rig = rig_;
    KnownStreams streams = streams_;
    for (unsigned i = 0; i < more; ++i) {
      CameraConfig& copy = rig.cameras.emplace_back(camera);
      copy.name = fmt::format("{}+{}", camera.name, i + 1);
      streams[copy.name] = streams_.find(camera.name)->second;
    }
    try {
      const RigNeeds needs = find_needs(rig, plan(rig, machine_), machine_.devices, costs_, streams);
      for (const ResourceUse& use : resource_uses(needs, machine_, costs_)) {
        const bool bounds = use.resource != Resource::thread || is_of(use.where, camera.name);
        if (bounds && use.needs > use.has) return Short{std::string(name_of(use.resource)), describe(use)};
      }
      return std::nullopt;
    } catch (const Error& error) {
      if (more == 0) throw;
      return Short{"workers", error.what()};
    }
  }

  const RigConfig& rig_;
  const Machine& machine_;
  const MachineCosts& costs_;
  const KnownStreams& streams_;
};

}  // namespace

Capacity find_capacity(const RigConfig& rig, const Machine& machine, const MachineCosts& costs,
                       const KnownStreams& streams) {
  Capacity capacity;
  const RigNeeds needs = find_needs(rig, plan(rig, machine), machine.devices, costs, streams);
  capacity.uses = resource_uses(needs, machine, costs);
  capacity.unknown_streams = needs.unknown_streams;
  Room room(rig, machine, costs, streams);
  struct Kind {
    CameraConfig config;
    KnownStream stream;
    CameraRoom room;
  };
  std::vector<Kind> kinds;
  for (const CameraConfig& camera : rig.cameras) {
    const auto stream = streams.find(camera.name);
    if (!camera.enabled || camera.mosaic || stream == streams.end()) continue;
    const CameraConfig kind = kind_of(camera);
    auto same = std::ranges::find_if(
        kinds, [&](const Kind& other) { return other.stream == stream->second && other.config == kind; });
    if (same == kinds.end()) same = kinds.insert(kinds.end(), {kind, stream->second, room.of(camera)});
    capacity.cameras.push_back(same->room);
    capacity.cameras.back().camera = camera.name;
  }
  return capacity;
}

}  // namespace campipe
