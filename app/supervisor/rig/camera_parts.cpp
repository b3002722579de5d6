#include "app/supervisor/rig/camera_parts.h"
#include "app/config/camera_config.h"

namespace campipe {
namespace {

void add_reader(CameraEdge& edge, NodeId node, unsigned worker) {
  EdgeReader& reader = edge.readers.emplace_back();
  reader.node = node;
  reader.process = process_of_node(worker);
}

}  // namespace

void add_nodes(Camera& camera, const std::vector<NodeId>& nodes, const std::vector<EdgeId>& edges,
               const CameraPlan& where, const Devices& devices) {
  const std::vector<FilterConfig>& filters = camera.config->filters;
  if (!camera.is_mosaic() && camera.edges.empty()) camera.edges.emplace_back().id = edges[0];
  for (unsigned n = 0; n < nodes.size(); ++n) {
    const NodePlan& planned = where.nodes[n];
    CameraNode& node = camera.nodes.emplace_back();
    node.id = nodes[n];
    node.worker = planned.worker;
    node.gpu = planned.remote.empty() ? gpu_name(devices, planned.gpu) : planned.remote;
    node.remote = planned.remote;
    node.done = !needs_worker(*camera.config);
    node.first_filter = planned.first_filter;
    const bool is_tile = n < where.tiles;
    if (is_tile) node.tile = n;
    node.joins = where.tiles > 0 && !is_tile;
    if (camera.is_mosaic()) continue;
    if (is_tile || n == 0) add_reader(camera.frames(), node.id, node.worker);
    if (n + 1 == nodes.size()) continue;
    const std::size_t next = is_tile ? nodes.size() - 1 : n + 1;
    CameraEdge& edge = camera.edges.emplace_back();
    edge.id = edges[n + 1];
    edge.writer = node.id;
    add_reader(edge, nodes[next], where.nodes[next].worker);
    edge.memory = planned.output;
    edge.filters = filters;
    if (!is_tile)
      edge.filters = {filters.begin() + planned.first_filter, filters.begin() + where.nodes[n + 1].first_filter};
  }
}

void place_output(Output& output, const ResolvedOutput& config, const std::vector<NodeId>& nodes,
                  const CameraPlan& where, const Devices& devices) {
  output.config = config;
  output.node = output.own ? nodes.back() : nodes.front();
  const NodePlan& planned = output.own ? where.nodes.back() : where.nodes.front();
  output.placement = placement_of_output(where, planned, output.config, devices);
}

std::string name_of_place(const Camera& camera) {
  const std::string& gpu = camera.encoder_of(camera.own()).gpu;
  return gpu == "cpu" ? "the CPU" : "GPU " + gpu;
}

}  // namespace campipe
