// What a rig runs, as a graph: the source of each camera, the node that filters and encodes it, and its outputs, joined
// by the rings that take frames and packets from one process to another. A pure function of configuration, plan and
// devices, by the rules that the running processes follow (app/control/camera_placement.h); `campipe --plan` shows it.
//
// It is the rig as it starts. What is known only once a source is open is not in it: its codec, whether a GPU refuses
// it, its audio, and what `codec: auto` becomes where the camera sends what not every player plays.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/config/rig_groups.h"
#include "app/placement/plan.h"

namespace campipe {

struct FilterConfig;
struct RigConfig;

// One that has something to do.
struct GraphProcess {
  std::string name;            // "source", "master", "master 0", "worker 0", "link", "publisher"
  std::vector<unsigned> cpus;  // that it is pinned to; empty: to none
  std::string gpu = {};        // of a worker, or of a master on a GPU: its index, or "cpu"
  double encode_cores = 0;     // of a worker: each output's share, for `encode.threads: auto`; 0: it is none
};

// What a source or a node makes for one output, or, as `frames`, for the camera's next node.
struct GraphStream {
  std::string output;                // its name: "dock", "dock/small"; of frames: the camera's, or the mosaic's
  std::vector<std::string> filters;  // of a copy: those that look at its frames
  std::string codec;                 // "copy": as it comes; "frames": none
  std::string encoder;               // FFmpeg's name of the one that is opened first; empty: a copy, or frames
  bool on_demand = false;            // only while somebody watches
};

struct GraphNode {
  // A camera's thread in the source, with the one that decodes it in a master; one of its threads in workers (a
  // mosaic's, too); an output's in the publisher.
  enum class Kind : std::uint8_t { source, node, output };
  Kind kind = Kind::source;
  std::string name;                       // the camera's, or the output's
  unsigned stage = 0;                     // of a node: its number, from 1, where the camera has more than one
  std::string process;                    // GraphProcess::name
  std::string gpu = "cpu";                // that it decodes or filters on: its index, or "cpu"
  std::string decoder = {};               // of a source: "nvdec", "libavcodec" or "pattern"; empty: nothing is decoded
  std::string decoded_in = {};            // of a source: GraphProcess::name; empty: nothing is decoded
  bool decodes_for_copies = false;        // of a source: on the CPU, for the filters of its copies alone
  std::string remote = {};                // of a node: NodePlan::remote
  unsigned cells = 0;                     // of a mosaic's node: how many it draws
  std::vector<GraphStream> streams = {};  // of a source: the copies; of a node: all others
  std::vector<std::string> sinks = {};    // of an output: "record", "push", "http", "rtsp"
};

// A ring.
struct GraphEdge {
  enum class Kind : std::uint8_t { frames, packets };
  Kind kind = Kind::frames;
  unsigned from = 0;  // places in Graph::nodes
  unsigned to = 0;
  MemoryKind memory = MemoryKind::host;
  ReadySignal ready = ReadySignal::immediate;
  bool on_demand = false;  // only while somebody watches
  std::string reason;      // why it is of that memory and has that signal
};

struct Graph {
  std::vector<GraphProcess> processes;  // source, masters, workers, publisher
  std::vector<GraphNode> nodes;         // by camera, in the configuration's order; none of a camera that is disabled
  std::vector<GraphEdge> edges;         // likewise
  std::vector<RigGroup> groups = {};    // also of cameras that are disabled
  std::vector<std::string> notes = {};  // for people: what the plan can be improved by
};

// `plan`: of this rig and these devices.
Graph make_graph(const RigConfig& rig, const RigPlan& plan, const Devices& devices);

// Of those from the first one to before the last one.
std::vector<std::string> filter_names(const std::vector<FilterConfig>& filters, std::size_t first, std::size_t last);

// Names of what the outputs of `campipe --plan` have in common.
std::string name_of(GraphEdge::Kind kind);  // "frame ring"
std::string name_of(ReadySignal signal);
std::string decoder_text(const GraphNode& source);  // "nvdec on GPU 0 in master 0"
std::string cells_text(const GraphNode& mosaic);    // "4 cells"
// "resize, blur -> h264 (libx264), on demand"; `maker`: that has the stream.
std::string stream_text(const GraphStream& stream, const GraphNode& maker);

// What the plan for programs and the status of a running rig have in common.
std::string id_of(const GraphNode& node);  // "source dock", "node dock 2"
nlohmann::json to_json(const GraphStream& stream);

// For people: a line for each process, each camera and each reason.
std::string describe(const Graph& graph);
// For Graphviz: a cluster for each process.
std::string to_dot(const Graph& graph);
// For programs: docs/placement.md lists the fields.
nlohmann::json to_json(const Graph& graph);

}  // namespace campipe
