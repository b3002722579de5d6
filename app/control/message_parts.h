// What messages (app/control/messages.h, app/probe/probe_messages.h) consist of, and the lists of those that go in one
// direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "ipc/ids.h"

namespace campipe {

// Those that go in one direction.
template <typename... Message>
struct MessageList {};

namespace messages {

struct DescriptorCount {
  std::size_t least = 0;
  std::size_t most = 0;
};

// What several messages consist of.
struct OfCamera {
  CameraId camera;
  static void fields(auto& m, auto&& f) { f("camera", m.camera); }
};
struct OfNode {
  NodeId node;
  static void fields(auto& m, auto&& f) { f("node", m.node); }
};
struct OfEdge {
  EdgeId edge;
  static void fields(auto& m, auto&& f) { f("edge", m.edge); }
};
struct OfEdgeAtNode {
  NodeId node;
  EdgeId edge;
  static void fields(auto& m, auto&& f) { f("node", m.node), f("edge", m.edge); }
};
struct OfOutput {
  OutputId output;
  static void fields(auto& m, auto&& f) { f("output", m.output); }
};
struct OutputEpoch {
  OutputId output;
  std::uint64_t epoch = 0;
  static void fields(auto& m, auto&& f) { f("output", m.output), f("epoch", m.epoch); }
};
struct OutputReason {
  OutputId output;
  std::string reason;
  static void fields(auto& m, auto&& f) { f("output", m.output), f("reason", m.reason); }
};
struct Empty {
  static void fields(auto&, auto&&) {}
};

}  // namespace messages
}  // namespace campipe
