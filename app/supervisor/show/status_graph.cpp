#include "app/supervisor/show/status_graph.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/config/camera_config.h"
#include "app/config/memory_names.h"
#include "app/placement/graph.h"
#include "app/placement/plan.h"
#include "app/supervisor/show/report.h"
#include "stages/filters/tile_parts.h"

namespace campipe {
namespace {

using Kind = GraphNode::Kind;

// `first`: of its filters that run there.
GraphStream stream_of(const Output& output, std::size_t first) {
  const bool is_encoded = output.stream && !output.is_copy();
  const std::vector<FilterConfig>& filters = output.config.filters;
  return {output.config.name, filter_names(filters, first, filters.size()), output.config.encode.codec,
          is_encoded ? output.stream->encoder : "", output.config.on_demand};
}

// None: its source.
GraphNode start_of(const Camera& camera, std::optional<NodeId> id) {
  if (!id) return {.kind = Kind::source, .name = camera.name(), .process = "source"};
  const CameraNode& node = camera.node(*id);
  const auto planned = camera.planned_nodes();
  const auto place = static_cast<unsigned>(std::ranges::find(planned, &node) - planned.begin());
  return {.kind = Kind::node,
          .name = camera.name(),
          .stage = planned.size() > 1 ? place + 1 : 0,
          .process = worker_name(node.worker),
          .gpu = node.gpu,
          .cells = static_cast<unsigned>(camera.cells.size())};
}

nlohmann::json to_json(const GraphNode& node) {
  nlohmann::json all{
      {"id", id_of(node)}, {"process", node.process}, {"gpu", node.gpu}, {"streams", nlohmann::json::array()}};
  for (const GraphStream& stream : node.streams) all["streams"].push_back(to_json(stream));
  if (node.kind == Kind::source) {
    all["decoder"] = node.decoder;
    all["decoded_in"] = node.decoded_in;
  }
  if (node.cells > 0) all["cells"] = node.cells;
  return all;
}

GraphNode source_of(const Camera& camera) {
  GraphNode source = start_of(camera, std::nullopt);
  const bool on_gpu = camera.decoder.find("nvdec") != std::string::npos;
  if (camera.decoder.empty() || on_gpu) source.gpu = camera.source.gpu;
  if (!camera.decoder.empty()) source.decoder = on_gpu ? "nvdec" : "libavcodec";
  if (camera.decoder == "pattern") source.decoder = camera.decoder;
  if (camera.is_decoded()) source.decoded_in = camera.decoding.role;
  for (const Output& output : camera.outputs) {
    if (output.is_copy()) source.streams.push_back(stream_of(output, 0));
  }
  return source;
}

GraphNode node_of(const Camera& camera, const CameraNode& node, const Cameras& cameras) {
  GraphNode shown = start_of(camera, node.id);
  const std::size_t tiled = node.tile || node.joins ? usual_tiles(camera.config->filters).filters : 0;
  const auto add_frames = [&](const CameraEdge& edge, const std::string& name) {
    const std::size_t last = node.tile ? tiled : edge.filters.size();
    const std::size_t first = node.joins ? std::min(tiled, last) : 0;
    shown.streams.push_back({name, filter_names(edge.filters, first, last), "frames", "", false});
  };
  for (const CameraEdge& edge : camera.edges) {
    if (edge.writer == node.id && !edge.cell) add_frames(edge, camera.name());
  }
  for (const Output& output : camera.outputs) {
    if (output.is_copy() || output.node != node.id) continue;
    shown.streams.push_back(stream_of(output, output.is_own() ? std::max<std::size_t>(node.first_filter, tiled) : 0));
  }
  for (const CameraEdge& edge : camera.edges) {
    const Camera* const mosaic = edge.cell ? cameras.find(edge.cell->mosaic) : nullptr;
    if (edge.writer == node.id && mosaic != nullptr) add_frames(edge, mosaic->name());
  }
  return shown;
}

// `of_reader`: the camera, or a mosaic.
nlohmann::json edge_json(const Camera& camera, const CameraEdge& edge, const Camera& of_reader,
                         const EdgeReader& reader, double fps) {
  const std::uint64_t published = edge.published();  // before those that are meant for the reader
  const ReaderFrames frames = edge.frames_from(reader);
  nlohmann::json all{{"from", id_of(start_of(camera, edge.writer))},
                     {"to", id_of(start_of(of_reader, reader.node))},
                     {"queue_size", edge.queue_size(*camera.config)},
                     {"waiting", edge.newest && reader.seat ? edge.newest->observer.pending_for(*reader.seat) : 0},
                     {"published", published},
                     {"fps", rounded(fps)},
                     {"recalled", frames.recalled},
                     {"missed", published > frames.meant ? published - frames.meant : 0}};
  if (!edge.newest) return all;
  const FrameRingMemory& ring = edge.newest->observer.memory();
  all["memory"] = choice_name(ring.kind());
  all["ready_signal"] = name_of(ring.ready_signal());
  all["ring_slots"] = ring.slots();
  return all;
}

}  // namespace

double StatusGraph::frame_rate(const Camera& camera, const CameraEdge& edge) {
  const auto now = Clock::now();
  const std::uint64_t published = edge.published();
  Sample& sample = samples_[edge.id];
  if (sample.name != camera.name() || published < sample.published) sample = {camera.name(), now, published, 0};
  const double seconds = std::chrono::duration<double>(now - sample.at).count();
  if (seconds > 0.8)
    sample = {camera.name(), now, published, static_cast<double>(published - sample.published) / seconds};
  return sample.fps;
}

nlohmann::json StatusGraph::make(const Camera& camera, const Cameras& cameras) {
  nlohmann::json graph{{"nodes", nlohmann::json::array()}, {"edges", nlohmann::json::array()}};
  if (!camera.is_mosaic()) graph["nodes"].push_back(to_json(source_of(camera)));
  if (!camera.uses_worker()) return graph;
  // One that is to take over has no part in it yet.
  const auto is_there = [](const Camera& owner, NodeId node) { return !owner.move || owner.move->to != node; };
  for (const CameraNode& node : camera.nodes) {
    if (is_there(camera, node.id)) graph["nodes"].push_back(to_json(node_of(camera, node, cameras)));
  }
  for (const CameraEdge& edge : camera.edges) {
    if (edge.link) continue;  // the cluster's status has them
    const double fps = frame_rate(camera, edge);
    for (const EdgeReader& reader : edge.readers) {
      const Camera* const of_reader = cameras.find(reader.node);
      if (of_reader != nullptr && is_there(*of_reader, reader.node))
        graph["edges"].push_back(edge_json(camera, edge, *of_reader, reader, fps));
    }
  }
  return graph;
}

}  // namespace campipe
