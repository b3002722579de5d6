#include "app/supervisor/camera.h"

#include <algorithm>

namespace campipe {

const char* name_of(CameraState state) {
  switch (state) {
    case CameraState::starting:
      return "starting";
    case CameraState::running:
      return "running";
    case CameraState::waiting:
      return "waiting";
    case CameraState::ended:
      return "ended";
    case CameraState::failed:
      return "failed";
    case CameraState::disabled:
      return "disabled";
  }
  return "";
}

const CameraNode& Camera::node(NodeId wanted) const { return *std::ranges::find(nodes, wanted, &CameraNode::id); }

CameraNode& Camera::node(NodeId wanted) { return *std::ranges::find(nodes, wanted, &CameraNode::id); }

CameraEdge& Camera::edge(EdgeId wanted) { return *std::ranges::find(edges, wanted, &CameraEdge::id); }

const CameraEdge& Camera::edge_to(const CameraNode& node) const {
  return *std::ranges::find(edges, node.id, &CameraEdge::reader);
}

CameraEdge& Camera::edge_to(const CameraNode& node) { return *std::ranges::find(edges, node.id, &CameraEdge::reader); }

std::vector<const CameraEdge*> Camera::path_of(const Output& output) const {
  std::vector<const CameraEdge*> path{&edge_to(encoder_of(output))};
  while (path.front()->writer) path.insert(path.begin(), &edge_to(node(*path.front()->writer)));
  return path;
}

ProcessId Camera::writer_of(const CameraEdge& edge) const {
  return edge.writer ? node(*edge.writer).process() : master_process;
}

bool Camera::is_over(const CameraEdge& edge) const { return edge.writer ? node(*edge.writer).done : source.over; }

bool Camera::nodes_done() const { return std::ranges::all_of(nodes, &CameraNode::done); }

bool Camera::all_failed() const {
  return std::ranges::all_of(outputs, [](const Output& output) { return output.state == CameraState::failed; });
}

bool Camera::all_encoded_failed() const {
  return std::ranges::all_of(
      outputs, [](const Output& output) { return output.is_copy() || output.state == CameraState::failed; });
}

}  // namespace campipe
