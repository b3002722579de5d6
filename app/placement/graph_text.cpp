// `campipe --plan`: the graph for people, and the words that its other forms share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/config/memory_names.h"
#include "app/placement/cpu_list.h"
#include "app/placement/graph.h"

namespace campipe {
namespace {

constexpr auto then = " -> ";

std::string memory_text(const GraphEdge& ring) {
  return fmt::format("{}, {}", choice_name(ring.memory), name_of(ring.ready));
}

std::string head_of(const GraphProcess& process, std::size_t cameras) {
  std::string text = process.name;
  if (!process.gpu.empty()) text += process.gpu == "cpu" ? "  cpu" : "  GPU " + process.gpu;
  text += process.cpus.empty() ? "  all cores" : "  cores " + to_cpu_list(process.cpus);
  if (process.encode_cores > 0) {
    text += fmt::format("  {} camera{}, {:.1f} cores for each output", cameras, cameras == 1 ? "" : "s",
                        process.encode_cores);
  }
  return text + "\n";
}

// A camera as its lines at one process show it.
struct CameraParts {
  const GraphNode* source = nullptr;  // null: the frames come from another node
  const GraphNode* node = nullptr;    // null: nothing of it is encoded
  const GraphEdge* frames = nullptr;  // likewise; of a mosaic's node: of one of its cells
};

std::vector<CameraParts> cameras_of(const Graph& graph) {
  std::vector<CameraParts> cameras;
  std::map<unsigned, std::size_t> places;
  for (unsigned n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    if (node.kind == GraphNode::Kind::source) {
      places[n] = cameras.size();
      cameras.push_back({&node});
      continue;
    }
    const auto to_node = [n](const GraphEdge& edge) { return edge.kind == GraphEdge::Kind::frames && edge.to == n; };
    const auto edge = std::ranges::find_if(graph.edges, to_node);
    if (node.kind != GraphNode::Kind::node) continue;
    if (node.cells > 0) {
      cameras.push_back({nullptr, &node, edge != graph.edges.end() ? &*edge : nullptr});
      continue;
    }
    const auto source = places.find(edge->from);
    // Of several nodes that read one source, it stands with the first.
    const bool is_first = source != places.end() && cameras[source->second].node == nullptr;
    CameraParts& camera = is_first ? cameras[source->second] : cameras.emplace_back();
    camera.node = &node;
    camera.frames = &*edge;
  }
  return cameras;
}

// Where its streams are made: cameras that are only copied are at work in the source.
const std::string& process_of(const CameraParts& camera) {
  return camera.node != nullptr ? camera.node->process : camera.source->process;
}

struct StreamLine {
  std::string output;
  std::string text;
};

// Its own stream first.
std::vector<StreamLine> streams_of(const CameraParts& camera) {
  std::vector<StreamLine> streams;
  for (const GraphNode* maker : {camera.source, camera.node}) {
    if (maker == nullptr) continue;
    for (const GraphStream& stream : maker->streams) streams.push_back({stream.output, stream_text(stream, *maker)});
  }
  std::ranges::sort(streams, {}, &StreamLine::output);
  return streams;
}

// One line where it has but one stream.
std::string text_of(const CameraParts& camera) {
  std::string way;
  if (camera.node != nullptr && camera.node->cells > 0) {
    way = cells_text(*camera.node);
  } else if (camera.frames != nullptr) {
    if (camera.source != nullptr) way = decoder_text(*camera.source) + then;
    way += memory_text(*camera.frames);
    if (camera.frames->on_demand) way += ", on demand";
  }
  const std::vector<StreamLine> streams = streams_of(camera);
  const GraphNode& named = camera.node != nullptr ? *camera.node : *camera.source;
  std::string text = fmt::format("  {}:{}{}", named.name, way.empty() ? "" : " ", way);
  if (streams.size() == 1) return text + (way.empty() ? " " : then) + streams.front().text + "\n";
  text += "\n";
  for (const StreamLine& stream : streams) text += fmt::format("    {}: {}\n", stream.output, stream.text);
  return text;
}

// Equal ones are one line.
std::string text_of_rings(const Graph& graph) {
  std::vector<std::pair<std::string, std::size_t>> lines;
  for (const auto kind : {GraphEdge::Kind::frames, GraphEdge::Kind::packets}) {
    for (const GraphEdge& edge : graph.edges) {
      if (edge.kind != kind) continue;
      const std::string line = fmt::format("{} ({}): {}", name_of(edge.kind), memory_text(edge), edge.reason);
      const auto found = std::ranges::find(lines, line, &std::pair<std::string, std::size_t>::first);
      if (found == lines.end()) {
        lines.emplace_back(line, 1);
      } else {
        ++found->second;
      }
    }
  }
  std::string text = "rings\n";
  for (const auto& [line, number] : lines) text += fmt::format("  {} x {}\n", number, line);
  return text;
}

}  // namespace

std::string name_of(GraphEdge::Kind kind) { return kind == GraphEdge::Kind::frames ? "frame ring" : "packet ring"; }

// `immediate` is no choice of the configuration.
std::string name_of(ReadySignal signal) {
  return signal == ReadySignal::immediate ? "immediate" : std::string(choice_name(signal));
}

std::string stream_text(const GraphStream& stream, const GraphNode& maker) {
  const bool is_copy = stream.encoder.empty();
  std::string text;
  if (!stream.filters.empty()) {
    text = fmt::format("{}{}{}", fmt::join(stream.filters, ", "),
                       is_copy && maker.decodes_for_copies ? " (libavcodec)" : "", then);
  }
  text += stream.codec;
  if (!is_copy) text += " (" + stream.encoder + ")";
  if (!maker.remote.empty()) text += ", on " + maker.remote;
  return stream.on_demand ? text + ", on demand" : text;
}

std::string decoder_text(const GraphNode& source) {
  const std::string decoder = source.gpu == "cpu" ? source.decoder : source.decoder + " on GPU " + source.gpu;
  return source.decoded_in.empty() ? decoder : decoder + " in " + source.decoded_in;
}

std::string cells_text(const GraphNode& mosaic) {
  return fmt::format("{} cell{}", mosaic.cells, mosaic.cells == 1 ? "" : "s");
}

std::string describe(const Graph& graph) {
  const std::vector<CameraParts> cameras = cameras_of(graph);
  std::string text;
  for (const GraphProcess& process : graph.processes) {
    std::string lines;
    std::set<std::string> names;
    for (const CameraParts& camera : cameras) {
      if (process_of(camera) != process.name) continue;
      lines += text_of(camera);
      names.insert((camera.node != nullptr ? camera.node : camera.source)->name);
    }
    text += head_of(process, names.size()) + lines;
  }
  text += text_of_rings(graph);
  if (!graph.groups.empty()) text += "groups\n";
  for (const RigGroup& group : graph.groups) text += "  " + describe(group) + "\n";
  if (!graph.notes.empty()) text += "notes\n";
  for (const std::string& note : graph.notes) text += "  " + note + "\n";
  return text;
}

}  // namespace campipe
