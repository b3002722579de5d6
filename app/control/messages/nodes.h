// To a worker, of nodes that run or are about to: messages (app/control/messages/parts.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "app/control/messages/node_parts.h"
#include "app/control/messages/parts.h"

namespace campipe::messages {

// The page of the group that an output is in; before its node. The descriptor is the page.
struct OfferGroupPage : OfOutput {
  static constexpr std::string_view type = "group_page";
  static constexpr DescriptorCount descriptors{1, 1};
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

// It is to write that edge no more: EdgeDone is the answer.
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

}  // namespace campipe::messages
