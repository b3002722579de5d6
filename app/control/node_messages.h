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
  std::optional<GroupSeat> seat;  // of config.group
  static void fields(auto& m, auto&& f) {
    f("output", m.output), f("config", m.config), f("drop_policy", m.drop_policy), f("placement", m.placement),
        f("epoch", m.epoch), f("base", m.base), f("failed", m.failed), f("seat", m.seat);
  }
};

// A frame ring that a node writes for further nodes.
struct WrittenEdge {
  EdgeId edge;
  std::string name;  // for people
  std::vector<FilterConfig> filters;
  RingMemory memory;
  unsigned readers = 1;     // for so many there is room
  std::uint64_t epoch = 1;  // of the first ring
  std::uint64_t base = 0;   // frames of earlier epochs
  bool failed = false;      // in the life of an earlier worker
  static void fields(auto& m, auto&& f) {
    f("edge", m.edge), f("name", m.name), f("filters", m.filters), f("memory", m.memory), f("readers", m.readers),
        f("epoch", m.epoch), f("base", m.base), f("failed", m.failed);
  }
};

struct RunNode {
  static constexpr std::string_view type = "node";
  NodeId node;
  std::vector<EdgeId> inputs;  // one
  std::string name;            // its camera's
  DropPolicy drop_policy = DropPolicy::block;
  unsigned queue_size = 8;             // frames that may wait, for it and in each ring that it writes
  std::vector<EncodedOutput> outputs;  // what it makes of each frame: packets,
  std::vector<WrittenEdge> edges;      // and frames for other nodes
  static void fields(auto& m, auto&& f) {
    f("node", m.node), f("inputs", m.inputs), f("name", m.name), f("drop_policy", m.drop_policy),
        f("queue_size", m.queue_size), f("outputs", m.outputs), f("edges", m.edges);
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

// Nothing of the node is left, its ids are free.
struct ForgetNode : OfNode {
  static constexpr std::string_view type = "forget_node";
};

// ---- To the writer of an edge

// Its frame ring is to be replaced.
struct RenewRing : OfEdge {
  static constexpr std::string_view type = "renew_ring";
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

// ---- From a worker

// Everything that came for the node is done with.
struct NodeDone : OfNode {
  static constexpr std::string_view type = "node_done";
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
