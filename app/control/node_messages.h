// What is said of nodes, and of the frame rings between them (edges): messages of app/control/messages.h, which has
// their lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.h"
#include "app/control/camera_placement.h"
#include "app/control/config_json.h"
#include "app/control/json_fields.h"
#include "app/control/message_parts.h"

namespace campipe::messages {

// The newest packet of a member of a synchronised group: of which set, and when in the stream.
struct NewestSet {
  std::uint64_t set = 0;
  std::int64_t pts = 0;
  static void fields(auto& m, auto&& f) { f("set", m.set), f("pts", m.pts); }
};

// An output's place in the page of its camera's group.
struct GroupSeat {
  unsigned place = 0;
  bool from_start = false;         // the group has begun just now, and so does this member
  std::optional<NewestSet> after;  // it goes on for one that died
  static void fields(auto& m, auto&& f) { f("place", m.place), f("from_start", m.from_start), f("after", m.after); }
};

// ---- To a worker

struct EncodedOutput {
  OutputId output;
  ResolvedOutput config;
  DropPolicy drop_policy = DropPolicy::block;  // where the publisher takes no packets
  Placement placement;
  std::uint64_t epoch = 1;        // of the first packet ring
  std::uint64_t base = 0;         // packets of earlier epochs
  bool failed = false;            // in the life of an earlier worker
  bool joined = false;            // made of what a join gives
  bool half_size = false;         // it has half the width and height: see ShrinkNode
  bool waits = false;             // its node takes over: epoch and base come with GoOn
  std::optional<GroupSeat> seat;  // of config.group
  static void fields(auto& m, auto&& f) {
    f("output", m.output), f("config", m.config), f("drop_policy", m.drop_policy), f("placement", m.placement),
        f("epoch", m.epoch), f("base", m.base), f("failed", m.failed), f("joined", m.joined),
        f("half_size", m.half_size), f("waits", m.waits), f("seat", m.seat);
  }
};

// What a node makes of frames that several make together: one part of each.
struct Tile {
  unsigned index = 0;
  unsigned count = 1;
  static void fields(auto& m, auto&& f) { f("index", m.index), f("count", m.count); }
};

// A frame ring that a node writes for further nodes.
struct WrittenEdge {
  EdgeId edge;
  std::string name;                   // for people
  std::vector<FilterConfig> filters;  // of a tile: all of the camera's own stream, of which it runs the first
  double rate = 0;                    // at most so many frames a second; 0: all
  DropPolicy drop_policy = DropPolicy::block;
  unsigned queue_size = 8;  // frames that may wait in it
  RingMemory memory;
  unsigned readers = 1;     // for so many there is room
  std::uint64_t epoch = 1;  // of the first ring
  std::uint64_t base = 0;   // frames of earlier epochs
  bool failed = false;      // in the life of an earlier worker
  bool cell = false;        // it is a mosaic's, for which nothing waits
  bool waits = false;       // its node takes over: epoch and base come with GoOn
  std::optional<Tile> tile;
  static void fields(auto& m, auto&& f) {
    f("edge", m.edge), f("name", m.name), f("filters", m.filters), f("rate", m.rate), f("drop_policy", m.drop_policy),
        f("queue_size", m.queue_size), f("memory", m.memory), f("readers", m.readers), f("epoch", m.epoch),
        f("base", m.base), f("failed", m.failed), f("cell", m.cell), f("waits", m.waits), f("tile", m.tile);
  }
};

// Of a node that joins frames: of what they are parts, as each of its inputs gives one.
struct Join {
  std::vector<FilterConfig> filters;  // as the tiles'
  std::uint64_t frames = 0;           // of the source so far: where their numbers go on
  std::vector<EdgeId> elsewhere;      // the inputs that are made on another node of the cluster
  static void fields(auto& m, auto&& f) { f("filters", m.filters), f("frames", m.frames), f("elsewhere", m.elsewhere); }
};

// What is known of a mosaic's cell.
struct CellState {
  std::optional<EdgeId> edge;  // that its frames come from; none: none come
  bool away = false;           // its camera sends nothing just now; else the frames themselves show that
  std::string reason;          // why there may be no frames
  std::int64_t since = 0;      // of that, UTC in ns
  friend bool operator==(const CellState&, const CellState&) = default;
  static void fields(auto& m, auto&& f) {
    f("edge", m.edge), f("away", m.away), f("reason", m.reason), f("since", m.since);
  }
};

// When a mosaic's clock has begun (ipc/rig_page.h, TickClock).
struct TickOrigin {
  std::int64_t first = 0;  // monotonic ns
  std::int64_t media_offset = 0;
  static void fields(auto& m, auto&& f) { f("first", m.first), f("media_offset", m.media_offset); }
};

// What a node draws at a clock of its own.
struct Compose {
  MosaicConfig mosaic;
  std::vector<CellState> cells;     // of each of the mosaic's
  std::optional<TickOrigin> clock;  // of the node that it takes over from
  static void fields(auto& m, auto&& f) { f("mosaic", m.mosaic), f("cells", m.cells), f("clock", m.clock); }
};

struct RunNode {
  static constexpr std::string_view type = "node";
  NodeId node;
  std::vector<EdgeId> inputs;      // one; of a join, each tile's; of a node that composes, none: its cells name theirs
  std::optional<Join> join;        // it joins the frames of its inputs;
  std::optional<Compose> compose;  // or composes; none: it takes the frames of its input
  std::string name;                // its camera's
  DropPolicy drop_policy = DropPolicy::block;
  unsigned queue_size = 8;             // frames that may wait for it
  std::vector<EncodedOutput> outputs;  // what it makes of each frame: packets,
  std::vector<WrittenEdge> edges;      // and frames for other nodes
  bool takes_over = false;             // from another node, by the page of OfferHandOver
  static void fields(auto& m, auto&& f) {
    f("node", m.node), f("inputs", m.inputs), f("join", m.join), f("compose", m.compose), f("name", m.name),
        f("drop_policy", m.drop_policy), f("queue_size", m.queue_size), f("outputs", m.outputs), f("edges", m.edges),
        f("takes_over", m.takes_over);
  }
};

// The page of the group that an output is in; before its node. The descriptor is the page.
struct OfferGroupPage : OfOutput {
  static constexpr std::string_view type = "group_page";
  static constexpr DescriptorCount descriptors{1, 1};
};

// The descriptors: control memory, and pixels where they lie in memory that has one.
struct OfferFrameRing {
  static constexpr std::string_view type = "frame_ring";
  static constexpr DescriptorCount descriptors{1, 2};
  NodeId node;
  EdgeId edge;
  unsigned reader = 0;  // its seat in the ring
  double frame_rate = 0;
  int rotation = 0;  // degrees clockwise by which its frames must be turned
  static void fields(auto& m, auto&& f) {
    f("node", m.node), f("edge", m.edge), f("reader", m.reader), f("frame_rate", m.frame_rate),
        f("rotation", m.rotation);
  }
};

// No further ring of that edge will come for the node.
struct EdgeOver : OfEdgeAtNode {
  static constexpr std::string_view type = "edge_over";
};

// To a node that composes: end, and finish the outputs.
struct FinishNode : OfNode {
  static constexpr std::string_view type = "finish_node";
};

// Likewise: one of its cells has changed.
struct ShowCell {
  static constexpr std::string_view type = "show_cell";
  NodeId node;
  unsigned cell = 0;
  CellState state;
  static void fields(auto& m, auto&& f) { f("node", m.node), f("cell", m.cell), f("state", m.state); }
};

// A node that runs gets another edge to write,
struct WriteEdge {
  static constexpr std::string_view type = "write_edge";
  NodeId node;
  WrittenEdge edge;
  static void fields(auto& m, auto&& f) { f("node", m.node), f("edge", m.edge); }
};

// and loses it: EdgeDone is the answer.
struct StopEdge : OfEdgeAtNode {
  static constexpr std::string_view type = "stop_edge";
};

// What it encodes has half the width and height from now on, or all of it.
struct ShrinkNode {
  static constexpr std::string_view type = "shrink_node";
  NodeId node;
  bool half = false;
  static void fields(auto& m, auto&& f) { f("node", m.node), f("half", m.half); }
};

// The page of a move (ipc/hand_over.h): to the node that has the work, and to the one that takes it over, before that
// is named by RunNode. The descriptor is the page.
struct OfferHandOver : OfNode {
  static constexpr std::string_view type = "hand_over";
  static constexpr DescriptorCount descriptors{1, 1};
};

// To a node that has taken over: the other one is done.
struct GoOn {
  static constexpr std::string_view type = "go_on";
  struct Output {
    OutputId output;
    std::uint64_t epoch = 1;  // as EncodedOutput's
    std::uint64_t base = 0;
    bool failed = false;
    std::optional<NewestSet> after;  // as GroupSeat's
    static void fields(auto& m, auto&& f) {
      f("output", m.output), f("epoch", m.epoch), f("base", m.base), f("failed", m.failed), f("after", m.after);
    }
  };
  struct Edge {
    EdgeId edge;
    std::uint64_t epoch = 1;  // as WrittenEdge's
    std::uint64_t base = 0;
    bool failed = false;
    static void fields(auto& m, auto&& f) {
      f("edge", m.edge), f("epoch", m.epoch), f("base", m.base), f("failed", m.failed);
    }
  };
  NodeId node;
  std::vector<Output> outputs;
  std::vector<Edge> edges;
  bool died = false;  // the other one's process: what that had in hands is lost
  static void fields(auto& m, auto&& f) {
    f("node", m.node), f("outputs", m.outputs), f("edges", m.edges), f("died", m.died);
  }
};

// Nothing of the node is left, its ids are free.
struct ForgetNode : OfNode {
  static constexpr std::string_view type = "forget_node";
};

// ---- To the writer of an edge

// Its frame ring is to be replaced.
struct RenewRing {
  static constexpr std::string_view type = "renew_ring";
  EdgeId edge;
  std::optional<RingMemory> memory;  // of a master's: from now on
  static void fields(auto& m, auto&& f) { f("edge", m.edge), f("memory", m.memory); }
};

// ---- From the writer of an edge

// The descriptors as OfferFrameRing's.
struct FrameRing {
  static constexpr std::string_view type = "frame_ring";
  static constexpr DescriptorCount descriptors{1, 2};
  EdgeId edge;
  std::uint64_t epoch = 0;
  double frame_rate = 0;
  int rotation = 0;
  std::string decoder;  // for people: "h264 (nvdec)"; of a node's ring: empty
  MemoryKind memory = MemoryKind::host;
  static void fields(auto& m, auto&& f) {
    f("edge", m.edge), f("epoch", m.epoch), f("frame_rate", m.frame_rate), f("rotation", m.rotation),
        f("decoder", m.decoder), f("memory", m.memory);
  }
};

// What a node makes for other nodes.
struct EdgeFailed {
  static constexpr std::string_view type = "edge_failed";
  EdgeId edge;
  std::string reason;
  static void fields(auto& m, auto&& f) { f("edge", m.edge), f("reason", m.reason); }
};

// It was asked to write it no more, and nothing of it is left.
struct EdgeDone : OfEdge {
  static constexpr std::string_view type = "edge_done";
};

// ---- From a worker

// Everything that came for the node is done with.
struct NodeDone : OfNode {
  static constexpr std::string_view type = "node_done";
};

// One of the two nodes of a move cannot take part in it.
struct NotReady {
  static constexpr std::string_view type = "not_ready";
  NodeId node;
  std::string reason;
  static void fields(auto& m, auto&& f) { f("node", m.node), f("reason", m.reason); }
};

// A frame ring that it was sent cannot be opened, through no process's fault.
struct FrameRingLost {
  static constexpr std::string_view type = "frame_ring_lost";
  NodeId node;
  EdgeId edge;
  std::string reason;
  static void fields(auto& m, auto&& f) { f("node", m.node), f("edge", m.edge), f("reason", m.reason); }
};

}  // namespace campipe::messages
