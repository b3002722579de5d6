#include "app/supervisor/cameras.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"

namespace campipe {
namespace {

template <typename Id>
std::vector<Id> lowest_free(const std::set<Id>& taken, unsigned size, std::size_t wanted) {
  std::vector<Id> free;
  for (unsigned index = 0; index < size && free.size() < wanted; ++index) {
    if (!taken.contains(Id(index))) free.emplace_back(index);
  }
  if (free.size() < wanted) throw Error(no_room);
  return free;
}

}  // namespace

const Camera* Cameras::find(const std::string& name) const {
  const auto found = std::ranges::find_if(cameras_, [&](const auto& placed) { return placed.second.name() == name; });
  return found == cameras_.end() ? nullptr : &found->second;
}

Camera* Cameras::find(const std::string& name) { return const_cast<Camera*>(std::as_const(*this).find(name)); }

Camera* Cameras::find(CameraId id) {
  const auto found = cameras_.find(id);
  return found == cameras_.end() ? nullptr : &found->second;
}

Output* Cameras::find(OutputId id) {
  const auto found = outputs_.find(id);
  return found == outputs_.end() ? nullptr : found->second;
}

CameraIds Cameras::free_ids(std::size_t outputs) const {
  std::set<CameraId> cameras;
  std::set<NodeId> nodes;
  std::set<EdgeId> edges;
  std::set<OutputId> taken_outputs;
  for (const auto& [id, camera] : cameras_) {
    cameras.insert(id);
    edges.insert(camera.frames.edge);
    for (const CameraNode& node : camera.worker.nodes) nodes.insert(node.id);
    for (const Output& output : camera.outputs) taken_outputs.insert(output.id);
  }
  return {lowest_free(cameras, size_.cameras, 1).front(), lowest_free(nodes, size_.nodes, 1).front(),
          lowest_free(edges, size_.edges, 1).front(), lowest_free(taken_outputs, size_.outputs, outputs)};
}

Camera& Cameras::add(Camera camera) {
  const CameraId id = camera.id;
  Camera& added = cameras_.emplace(id, std::move(camera)).first->second;
  for (Output& output : added.outputs) outputs_[output.id] = &output;
  return added;
}

void Cameras::remove(CameraId id) {
  for (const Output& output : cameras_.at(id).outputs) outputs_.erase(output.id);
  cameras_.erase(id);
}

}  // namespace campipe
