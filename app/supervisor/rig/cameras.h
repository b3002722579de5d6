// The cameras of a rig, and which ids (ipc/ids.h) their parts have. A camera keeps its address as long as it is here.
#pragma once

#include <map>
#include <ranges>
#include <string>
#include <vector>

#include "app/supervisor/rig/camera.h"
#include "ipc/ids.h"
#include "ipc/rig_size.h"

namespace campipe {

// Of nodes, and of as many edges.
struct PartIds {
  std::vector<NodeId> nodes;
  std::vector<EdgeId> edges;
};

// Of one camera's parts.
struct CameraIds {
  CameraId camera;
  std::vector<NodeId> nodes;
  std::vector<EdgeId> edges;      // as many
  std::vector<OutputId> outputs;  // its own stream's first
};

class Cameras {
 public:
  // `size`: of the rig page.
  explicit Cameras(const RigSize& size) : size_(size) {}

  // In the order of their ids.
  [[nodiscard]] auto all() { return std::views::values(cameras_); }
  [[nodiscard]] auto all() const { return std::views::values(cameras_); }
  [[nodiscard]] Camera& of(const Output& output) { return cameras_.at(output.camera); }
  // Null: there is none.
  [[nodiscard]] Camera* find(const std::string& name);
  [[nodiscard]] const Camera* find(const std::string& name) const;
  [[nodiscard]] Camera* find(CameraId id);
  [[nodiscard]] Output* find(OutputId id);
  // The camera that has it.
  [[nodiscard]] Camera* find(NodeId id);
  [[nodiscard]] Camera* find(EdgeId id);
  [[nodiscard]] const Camera* find(EdgeId id) const { return const_cast<Cameras*>(this)->find(id); }
  [[nodiscard]] const Camera* find(CameraId id) const { return const_cast<Cameras*>(this)->find(id); }
  [[nodiscard]] const Camera* find(NodeId id) const { return const_cast<Cameras*>(this)->find(id); }
  // There can be such a one.
  [[nodiscard]] bool is_id(CameraId id) const { return id.index() < size_.cameras; }
  [[nodiscard]] bool is_id(OutputId id) const { return id.index() < size_.outputs; }
  [[nodiscard]] bool is_id(NodeId id) const { return id.index() < size_.nodes; }
  [[nodiscard]] bool is_id(EdgeId id) const { return id.index() < size_.edges; }
  [[nodiscard]] std::size_t most_outputs() const { return size_.outputs; }
  // Of mosaics: each has an edge beside those of the nodes.
  [[nodiscard]] std::size_t most_cells() const { return size_.edges - size_.nodes; }

  // The lowest ones. Throws Error where there are too few.
  [[nodiscard]] CameraIds free_ids(std::size_t nodes, std::size_t outputs) const;
  [[nodiscard]] PartIds free_parts(std::size_t nodes) const;
  // For what is none of this rig's cameras: they are not free until they are released, and belong to none.
  [[nodiscard]] PartIds reserve_parts(std::size_t nodes, std::size_t edges);
  void release_parts(const std::vector<NodeId>& nodes, const std::vector<EdgeId>& edges);
  // By its ids, which are free.
  Camera& add(Camera camera);
  // Nodes and edges that it has got since, by their ids, which are free.
  void add_parts(const Camera& camera);
  // Of a mosaic's cell, with an id of its own. Throws Error where there is none.
  CameraEdge& add_edge(Camera& camera, CameraEdge edge);
  void remove_edge(Camera& camera, EdgeId id);
  // One more of a camera's, behind `before` and with an id of its own. Throws Error where there is none.
  CameraNode& add_node(Camera& camera, NodeId before, CameraNode node);
  void remove_node(Camera& camera, NodeId id);
  void remove(CameraId id);

 private:
  RigSize size_;
  std::map<CameraId, Camera> cameras_;
  std::map<OutputId, Output*> outputs_;
  std::map<NodeId, CameraId> nodes_;
  std::map<EdgeId, CameraId> edges_;
};

// act(camera, edge), for the edges that the cells of a mosaic read: each with the camera that it is of.
template <typename AnyCameras, typename Do>
void for_each_cell(AnyCameras& cameras, CameraId mosaic, const Do& act) {
  for (auto& camera : cameras.all()) {
    for (auto& edge : camera.edges) {
      if (edge.cell && edge.cell->mosaic == mosaic) act(camera, edge);
    }
  }
}

inline constexpr auto no_room_for_streams =
    "there is no room for so many more streams in this run; restart the rig with them";

}  // namespace campipe
