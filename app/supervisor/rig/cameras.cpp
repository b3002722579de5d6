#include "app/supervisor/rig/cameras.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace campipe {
namespace {

// `taken`: by their ids.
template <typename Id, typename Of>
std::vector<Id> lowest_free(const std::map<Id, Of>& taken, unsigned size, std::size_t wanted) {
  std::vector<Id> free;
  for (unsigned index = 0; index < size && free.size() < wanted; ++index) {
    if (!taken.contains(Id(index))) free.emplace_back(index);
  }
  if (free.size() < wanted) throw Error(no_room_for_streams);
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

Camera* Cameras::find(NodeId id) {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : find(found->second);
}

Camera* Cameras::find(EdgeId id) {
  const auto found = edges_.find(id);
  return found == edges_.end() ? nullptr : find(found->second);
}

CameraIds Cameras::free_ids(std::size_t nodes, std::size_t outputs) const {
  return {lowest_free(cameras_, size_.cameras, 1).front(), lowest_free(nodes_, size_.nodes, nodes),
          lowest_free(edges_, size_.edges, nodes), lowest_free(outputs_, size_.outputs, outputs)};
}

PartIds Cameras::free_parts(std::size_t nodes) const {
  return {lowest_free(nodes_, size_.nodes, nodes), lowest_free(edges_, size_.edges, nodes)};
}

PartIds Cameras::reserve_parts(std::size_t nodes, std::size_t edges) {
  PartIds ids{lowest_free(nodes_, size_.nodes, nodes), lowest_free(edges_, size_.edges, edges)};
  for (const NodeId id : ids.nodes) nodes_[id] = no_camera;
  for (const EdgeId id : ids.edges) edges_[id] = no_camera;
  return ids;
}

void Cameras::release_parts(const std::vector<NodeId>& nodes, const std::vector<EdgeId>& edges) {
  for (const NodeId id : nodes) nodes_.erase(id);
  for (const EdgeId id : edges) edges_.erase(id);
}

void Cameras::add_parts(const Camera& camera) {
  for (const CameraNode& node : camera.nodes) nodes_[node.id] = camera.id;
  for (const CameraEdge& edge : camera.edges) edges_[edge.id] = camera.id;
}

Camera& Cameras::add(Camera camera) {
  const CameraId id = camera.id;
  Camera& added = cameras_.emplace(id, std::move(camera)).first->second;
  for (Output& output : added.outputs) outputs_[output.id] = &output;
  add_parts(added);
  return added;
}

CameraEdge& Cameras::add_edge(Camera& camera, CameraEdge edge) {
  edge.id = lowest_free(edges_, size_.edges, 1).front();
  edges_[edge.id] = camera.id;
  return camera.edges.emplace_back(std::move(edge));
}

void Cameras::remove_edge(Camera& camera, EdgeId id) {
  edges_.erase(id);
  camera.edges.remove_if([id](const CameraEdge& edge) { return edge.id == id; });
}

CameraNode& Cameras::add_node(Camera& camera, NodeId before, CameraNode node) {
  node.id = lowest_free(nodes_, size_.nodes, 1).front();
  nodes_[node.id] = camera.id;
  const auto place = std::ranges::find(camera.nodes, before, &CameraNode::id);
  return *camera.nodes.insert(place + 1, std::move(node));
}

void Cameras::remove_node(Camera& camera, NodeId id) {
  nodes_.erase(id);
  std::erase_if(camera.nodes, [id](const CameraNode& node) { return node.id == id; });
}

void Cameras::remove(CameraId id) {
  const Camera& camera = cameras_.at(id);
  for (const Output& output : camera.outputs) outputs_.erase(output.id);
  for (const CameraNode& node : camera.nodes) nodes_.erase(node.id);
  for (const CameraEdge& edge : camera.edges) edges_.erase(edge.id);
  cameras_.erase(id);
}

}  // namespace campipe
