// Messages: what the supervisor and its processes send one another over their control channels (ipc/channel.h). Each is
// a struct in a header of this folder, and in the list of its direction (to_source.h, from_worker.h and so on). `type`
// is its name on the channel, `fields` its JSON (app/control/json_fields.h), `descriptors` how many descriptors travel
// with it, where any do. What a message is about is named by its id (ipc/ids.h): source and master are sent cameras,
// workers are sent nodes, the publisher is sent outputs.
//
// Here is what several of them consist of. Headers declare the messages that they name, and sources include those that
// they use, so that few files see one. The JSON of all messages of a list is made in one file
// (app/control/messages/json.h).
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
