#include "app/placement/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "app/config/memory_names.h"
#include "app/config/rig_config.h"
#include "app/config/serves.h"
#include "app/control/sent_stream.h"
#include "app/placement/mosaic_plan.h"
#include "app/placement/quarantine.h"
#include "app/placement/tile_estimate.h"
#include "core/gpu.h"
#include "stages/encoders/encoder.h"
#include "stages/filters/tile_parts.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

using NodeKind = GraphNode::Kind;
using EdgeKind = GraphEdge::Kind;

constexpr auto source_role = "source";
constexpr auto publisher = "publisher";

std::vector<std::string> sinks_of(const StreamConfig& output, const ServerConfig& server) {
  std::vector<std::string> sinks;
  if (output.record) sinks.emplace_back("record");
  if (!output.push.empty()) sinks.emplace_back("push");
  if (!server.http_address.empty()) sinks.emplace_back("http");
  if (!server.rtsp_address.empty()) sinks.emplace_back("rtsp");
  return sinks;
}

std::string why_on_cpu(const CameraConfig& camera, const Placement& placement, const Devices& devices) {
  if (source_kind_of(camera.source.url).painted) return "a test pattern is not decoded";
  if (camera.placement && camera.placement->decode == "cpu") return "placement.decode: cpu";
  if (camera.placement && !on_gpu(placement.gpu)) return "its first node is on the CPU";
  if (camera.gpu == "cpu") return "gpu: cpu";
  if (decodes_together(camera)) return "files of a synchronised group are decoded in one process";
  if (!on_gpu(placement.gpu)) return devices.problem.empty() ? "no GPU can be used" : "no GPU: " + devices.problem;
  if (camera.decode_gpu == "cpu") return "decode.gpu: cpu";
  return fmt::format("GPU {} decodes nothing", gpu_name(devices, placement.gpu));
}

std::string why_between_gpus(const CameraConfig& camera, const Device& from, const Device& to, const Devices& devices) {
  const GpuPair* pair = find_pair(devices, from, to);
  return fmt::format("from GPU {} to GPU {}, {}; ipc_memory: {} ({})", gpu_name(devices, from), gpu_name(devices, to),
                     pair != nullptr ? pair->link : "an unknown link",
                     camera.ipc_memory ? choice_name(*camera.ipc_memory) : "auto", describe_sharing(devices, from, to));
}

std::string why_packets(const CameraConfig& asked, const ResolvedOutput& output) {
  const std::string rule = "packets are in host memory";
  if (!is_copy(output.encode)) return rule;
  const bool is_own = output.output == "main";
  if (is_own && is_auto(asked.encode)) return rule + "; codec: auto, encoded if not every player plays what comes";
  if (is_own && asked.for_browsers) return rule + "; codec: copy, with an output browser if they do not play it";
  return rule + "; codec: copy";
}

// Whose frames a mosaic shows.
struct LastNode {
  unsigned node = 0;  // place in Graph::nodes
  const CameraConfig* camera = nullptr;
  const CameraPlan* plan = nullptr;
};

class GraphMaker {
 public:
  GraphMaker(const RigConfig& rig, const RigPlan& plan, const Devices& devices)
      : rig_(rig), plan_(plan), devices_(devices) {}

  Graph make() {
    for (std::size_t c = 0; c < rig_.cameras.size(); ++c) {
      if (!rig_.cameras[c].enabled) continue;
      if (rig_.cameras[c].mosaic) {
        add_mosaic(rig_.cameras[c], plan_.cameras[c]);
      } else {
        add_camera(rig_.cameras[c], plan_.cameras[c]);
      }
    }
    add_processes();
    graph_.groups = groups_of(rig_);
    return std::move(graph_);
  }

 private:
  void add_camera(const CameraConfig& asked, const CameraPlan& planned) {
    const CameraConfig camera = resolved(asked, std::nullopt);
    const unsigned source = add({.kind = NodeKind::source, .name = camera.name, .process = source_role});
    unsigned first = source;
    unsigned last = source;
    if (needs_worker(camera) || shown_.contains(camera.name)) {
      last = add_nodes(camera, planned, source);
      first = last + 1 - static_cast<unsigned>(planned.nodes.size());
      last_nodes_[camera.name] = {last, &asked, &planned};
    }
    add_outputs(asked, camera, planned, {source, first, last});
    if (const std::string why = why_tiles_cannot_pay(camera, planned); !why.empty())
      graph_.notes.push_back(camera.name + ": tiles do not make it faster: " + why);
    look_at_copies(graph_.nodes[source], is_decoded(camera));
    GraphNode& read = graph_.nodes[source];
    if (read.decoder.empty() && !read.decodes_for_copies) return;
    const auto apart = quarantines_.find(camera.name);
    read.decoded_in = apart != quarantines_.end() ? quarantine_name(apart->second)
                                                  : master_name(gpu_name(devices_, planned.placement.decode_gpu));
  }

  // Cameras come before the mosaics that show them.
  void add_mosaic(const CameraConfig& mosaic, const CameraPlan& planned) {
    const NodePlan& node = planned.nodes.front();
    const unsigned added = add({.kind = NodeKind::node,
                                .name = mosaic.name,
                                .process = worker_name(node.worker),
                                .gpu = gpu_name(devices_, node.gpu),
                                .cells = static_cast<unsigned>(mosaic.mosaic->cells.size())});
    for (std::size_t i = 0; i < mosaic.mosaic->cells.size(); ++i) {
      const auto shown = last_nodes_.find(mosaic.mosaic->cells[i].camera);
      if (shown == last_nodes_.end()) continue;
      add_cell(mosaic, planned.cells[i], shown->second, added);
    }
    add_outputs(mosaic, mosaic, planned, {added, added, added});
  }

  void add_cell(const CameraConfig& mosaic, const RingMemory& memory, const LastNode& shown, unsigned to) {
    const NodePlan& from = shown.plan->nodes.back();
    const std::size_t tiled = shown.plan->tiles > 0 ? usual_tiles(shown.camera->filters).filters : 0;
    std::vector<std::string> filters = filter_names(
        shown.camera->filters, std::max<std::size_t>(from.first_filter, tiled), shown.camera->filters.size());
    std::erase_if(filters, [](const std::string& name) { return known_filter(name).only_looks; });
    filters.emplace_back("fit");
    graph_.nodes[shown.node].streams.push_back({mosaic.name, std::move(filters), "frames", "", false});
    graph_.edges.push_back(
        {.kind = EdgeKind::frames,
         .from = shown.node,
         .to = to,
         .memory = memory.kind,
         .ready = memory.ready,
         .reason = "a cell of " + mosaic.name + "; " +
                   why_from_node(*shown.camera, from, plan_.cameras[place_of(mosaic)].nodes.front())});
  }

  struct Makers {
    unsigned source, first, last;
  };
  void add_outputs(const CameraConfig& asked, const CameraConfig& camera, const CameraPlan& planned,
                   const Makers& makers) {
    for (const ResolvedOutput& output : resolved_outputs(camera)) {
      const bool is_own = output.output == "main";
      const unsigned from = is_copy(output.encode) ? makers.source : is_own ? makers.last : makers.first;
      graph_.nodes[from].streams.push_back(stream_of(output, planned, is_own));
      const unsigned to = add({.kind = NodeKind::output,
                               .name = output.name,
                               .process = publisher,
                               .sinks = sinks_of(output, rig_.server)});
      graph_.edges.push_back({.kind = EdgeKind::packets,
                              .from = from,
                              .to = to,
                              .on_demand = output.on_demand,
                              .reason = why_packets(asked, output)});
    }
  }

  // Whether somebody watches or not.
  [[nodiscard]] bool is_decoded(const CameraConfig& camera) const {
    return encoded_outputs(camera) > 0 || shown_.contains(camera.name);
  }

  [[nodiscard]] std::size_t place_of(const CameraConfig& camera) const {
    return static_cast<std::size_t>(&camera - rig_.cameras.data());
  }

  // Returns the last one.
  unsigned add_nodes(const CameraConfig& camera, const CameraPlan& planned, unsigned source) {
    const std::size_t count = planned.nodes.size();
    const auto first = static_cast<unsigned>(graph_.nodes.size());
    for (std::size_t n = 0; n < count; ++n) {
      const NodePlan& node = planned.nodes[n];
      add({.kind = NodeKind::node,
           .name = camera.name,
           .stage = count > 1 ? static_cast<unsigned>(n + 1) : 0,
           .process = worker_name(node.worker),
           .gpu = gpu_name(devices_, node.gpu),
           .remote = node.remote});
    }
    for (unsigned n = 0; n < count; ++n) {
      const bool is_tile = n < planned.tiles;
      if (n == 0 || is_tile) join_to_source(camera, planned, n, source, first + n);
      if (n + 1 == count) break;
      const unsigned reader = is_tile ? static_cast<unsigned>(count - 1) : n + 1;
      const NodePlan& writer = planned.nodes[n];
      const std::size_t last = is_tile ? usual_tiles(camera.filters).filters : planned.nodes[reader].first_filter;
      graph_.nodes[first + n].streams.push_back(
          {camera.name, filter_names(camera.filters, writer.first_filter, last), "frames", "", false});
      graph_.edges.push_back({.kind = EdgeKind::frames,
                              .from = first + n,
                              .to = first + reader,
                              .memory = writer.output.kind,
                              .ready = writer.output.ready,
                              .reason = why_from_node(camera, writer, planned.nodes[reader])});
    }
    return static_cast<unsigned>(first + count - 1);
  }

  [[nodiscard]] std::string why_from_node(const CameraConfig& camera, const NodePlan& from, const NodePlan& to) const {
    if (!from.remote.empty()) return "frames come from " + from.remote + " over the network";
    return on_gpu(from.gpu) ? why_from_gpu(camera, from.gpu, to.gpu) : "a node on the CPU makes the frames";
  }

  [[nodiscard]] std::string why_from_gpu(const CameraConfig& camera, const Device& from, const Device& to) const {
    if (!on_gpu(to)) return fmt::format("from GPU {} to the CPU, which waits for no GPU", gpu_name(devices_, from));
    return why_between_gpus(camera, from, to, devices_);
  }

  // `n`: the node's place in the plan.
  void join_to_source(const CameraConfig& camera, const CameraPlan& planned, std::size_t n, unsigned source,
                      unsigned node) {
    const Placement& placement = planned.placement;
    const Device& reader = planned.nodes[n].gpu;
    const bool painted = source_kind_of(camera.source.url).painted;
    const Device decoder = first_decoder(placement, !painted);
    const RingMemory ring = ring_memory(placement, on_gpu(decoder));
    graph_.nodes[source].gpu = gpu_name(devices_, decoder);
    graph_.nodes[source].decoder = painted ? "pattern" : on_gpu(decoder) ? "nvdec" : "libavcodec";
    std::string reason = "the CPU decodes (" + why_on_cpu(camera, placement, devices_) + ")";
    if (on_gpu(decoder)) reason = why_from_gpu(camera, decoder, reader);
    if (on_gpu(decoder) && on_gpu(reader))
      reason += fmt::format("; ready_signal: {}", camera.ready_signal ? choice_name(*camera.ready_signal) : "auto");
    graph_.edges.push_back({.kind = EdgeKind::frames,
                            .from = source,
                            .to = node,
                            .memory = ring.kind,
                            .ready = ring.ready,
                            .on_demand = !is_decoded(camera),
                            .reason = reason});
  }

  // Frames that the CPU decodes for others, and not on demand alone, serve them too (Decoding::begin()).
  static void look_at_copies(GraphNode& source, bool always_decoded) {
    const bool shared = always_decoded && source.gpu == "cpu";
    source.decodes_for_copies =
        !shared && std::ranges::any_of(source.streams, [](const GraphStream& copy) { return !copy.filters.empty(); });
  }

  [[nodiscard]] GraphStream stream_of(const ResolvedOutput& output, const CameraPlan& planned, bool is_own) const {
    const NodePlan& node = is_own ? planned.nodes.back() : planned.nodes.front();
    const bool copied = is_copy(output.encode);
    std::size_t first = is_own && !copied ? node.first_filter : 0;
    if (is_own && planned.tiles > 0) first = usual_tiles(output.filters).filters;
    GraphStream stream{output.name, filter_names(output.filters, first, output.filters.size()), output.encode.codec, "",
                       output.on_demand};
    if (copied) return stream;
    const Placement placement = placement_of_output(planned, node, output, devices_);
    stream.encoder = first_encoder(output.encode, tries_gpu_encoder(placement, output));
    return stream;
  }

  unsigned add(GraphNode node) {
    graph_.nodes.push_back(std::move(node));
    return static_cast<unsigned>(graph_.nodes.size() - 1);
  }

  [[nodiscard]] bool works(const std::string& process) const {
    return std::ranges::any_of(
        graph_.nodes, [&](const GraphNode& node) { return node.process == process || node.decoded_in == process; });
  }

  // The same for all of a worker's nodes.
  [[nodiscard]] double encode_cores_of(unsigned worker) const {
    for (const NodePlan& node : plan_.cameras[plan_.workers[worker].cameras.front()].nodes) {
      if (node.worker == worker) return node.encode_cores;
    }
    return 0;
  }

  void add_processes() {
    if (works(source_role)) graph_.processes.push_back({source_role, {}});
    if (const std::string of_cpu = master_name("cpu"); works(of_cpu)) graph_.processes.push_back({of_cpu, {}});
    for (const Gpu& gpu : devices_.gpus) {
      const auto here = [&](const CameraPlan& camera) { return camera.placement.decode_gpu == gpu.device; };
      const auto camera = std::ranges::find_if(plan_.cameras, here);
      const std::string name = gpu_name(devices_, gpu.device);
      if (camera != plan_.cameras.end() && works(master_name(name)))
        graph_.processes.push_back({master_name(name), camera->placement.decode_cpus, name});
    }
    for (unsigned number = 0; number < max_quarantines; ++number) {
      if (works(quarantine_name(number))) graph_.processes.push_back({quarantine_name(number), {}});
    }
    for (unsigned w = 0; w < plan_.workers.size(); ++w) {
      const WorkerPlan& planned = plan_.workers[w];
      if (!works(worker_name(w))) continue;
      graph_.processes.push_back({worker_name(w), planned.cpus, gpu_name(devices_, planned.gpu), encode_cores_of(w)});
    }
    if (works(worker_name(no_worker))) graph_.processes.push_back({worker_name(no_worker), {}});
    if (works(publisher) || serves(rig_)) graph_.processes.push_back({publisher, {}});
  }

  const RigConfig& rig_;
  const RigPlan& plan_;
  const Devices& devices_;
  const std::set<std::string, std::less<>> shown_ = shown_cameras(rig_);  // by mosaics
  const std::map<std::string, unsigned> quarantines_ = first_quarantines(rig_.cameras);
  std::map<std::string, LastNode> last_nodes_;  // of those cameras that have nodes
  Graph graph_;
};

}  // namespace

std::vector<std::string> filter_names(const std::vector<FilterConfig>& filters, std::size_t first, std::size_t last) {
  std::vector<std::string> names;
  for (std::size_t f = first; f < last; ++f) names.push_back(filters[f].name);
  return names;
}

Graph make_graph(const RigConfig& rig, const RigPlan& plan, const Devices& devices) {
  return GraphMaker(rig, plan, devices).make();
}

}  // namespace campipe
