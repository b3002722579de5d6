// From a worker: messages (app/control/messages/parts.h).
#pragma once

#include <string>
#include <string_view>

#include "app/control/messages/edges.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/parts.h"

namespace campipe::messages {

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

struct OutputFailed : OutputReason {
  static constexpr std::string_view type = "output_failed";
};

using FromWorker =
    MessageList<FrameRing, PacketRing, OutputFailed, EdgeFailed, EdgeDone, NodeDone, NotReady, FrameRingLost>;

}  // namespace campipe::messages
