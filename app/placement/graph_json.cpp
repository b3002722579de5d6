// `campipe --plan=json`: the graph for programs. docs/placement.md lists the fields.
#include <nlohmann/json.hpp>
#include <string>

#include "app/config/names.h"
#include "app/placement/graph.h"

namespace campipe {
namespace {

using nlohmann::json;

std::string name_of(GraphNode::Kind kind) {
  switch (kind) {
    case GraphNode::Kind::source:
      return "source";
    case GraphNode::Kind::node:
      return "node";
    case GraphNode::Kind::output:
      return "output";
  }
  return "";
}

json to_json(const GraphProcess& process) {
  json all{{"name", process.name}, {"cpus", process.cpus}};
  if (process.gpu.empty()) return all;
  all["gpu"] = process.gpu;
  if (process.encode_cores > 0) all["encode_cores"] = process.encode_cores;
  return all;
}

json to_json(const GraphNode& node) {
  json all{{"id", id_of(node)}, {"kind", name_of(node.kind)}, {"name", node.name}, {"process", node.process}};
  if (node.kind == GraphNode::Kind::output) {
    all["sinks"] = node.sinks;
    return all;
  }
  all["gpu"] = node.gpu;
  all["streams"] = json::array();
  for (const GraphStream& stream : node.streams) all["streams"].push_back(to_json(stream));
  if (node.cells > 0) all["cells"] = node.cells;
  if (!node.remote.empty()) all["remote"] = node.remote;
  if (node.kind == GraphNode::Kind::node) return all;
  all["decoder"] = node.decoder;
  all["decoded_in"] = node.decoded_in;
  all["decodes_for_copies"] = node.decodes_for_copies;
  return all;
}

json to_json(const GraphEdge& edge, const Graph& graph) {
  return {{"kind", name_of(edge.kind)},
          {"from", id_of(graph.nodes[edge.from])},
          {"to", id_of(graph.nodes[edge.to])},
          {"memory", choice_name(edge.memory)},
          {"ready_signal", name_of(edge.ready)},
          {"on_demand", edge.on_demand},
          {"reason", edge.reason}};
}

json to_json(const RigGroup& group) {
  const auto milliseconds = [](auto time) { return std::chrono::duration<double, std::milli>(time).count(); };
  return {{"name", group.rules.name},
          {"cameras", group.cameras},
          {"rate", group.rules.rate},
          {"tolerance_ms", milliseconds(group.rules.tolerance)},
          {"max_wait_ms", milliseconds(group.rules.max_wait)},
          {"on_missing", choice_name(group.rules.on_missing)}};
}

}  // namespace

// A camera's source and nodes have its name, and so has its own output.
std::string id_of(const GraphNode& node) {
  const std::string id = name_of(node.kind) + " " + node.name;
  return node.stage == 0 ? id : id + " " + std::to_string(node.stage);
}

json to_json(const GraphStream& stream) {
  return {{"output", stream.output},
          {"filters", stream.filters},
          {"codec", stream.codec},
          {"encoder", stream.encoder},
          {"on_demand", stream.on_demand}};
}

json to_json(const Graph& graph) {
  json all{{"processes", json::array()}, {"nodes", json::array()}, {"edges", json::array()}, {"groups", json::array()}};
  for (const RigGroup& group : graph.groups) all["groups"].push_back(to_json(group));
  for (const GraphProcess& process : graph.processes) all["processes"].push_back(to_json(process));
  for (const GraphNode& node : graph.nodes) all["nodes"].push_back(to_json(node));
  for (const GraphEdge& edge : graph.edges) all["edges"].push_back(to_json(edge, graph));
  return all;
}

}  // namespace campipe
