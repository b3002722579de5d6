// What a node is to make: messages to a worker (app/control/messages/parts.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/drop_policy.h"
#include "app/config/mosaic_config.h"
#include "app/config/stream_config.h"
#include "app/control/camera_placement.h"
#include "app/control/messages/node_parts.h"
#include "app/control/messages/parts.h"

namespace campipe::messages {

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

// A node that runs gets another edge to write. By StopEdge it loses it.
struct WriteEdge {
  static constexpr std::string_view type = "write_edge";
  NodeId node;
  WrittenEdge edge;
  static void fields(auto& m, auto&& f) { f("node", m.node), f("edge", m.edge); }
};

}  // namespace campipe::messages
