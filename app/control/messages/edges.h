// The frame rings of edges: messages (app/control/messages/parts.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/control/camera_placement.h"
#include "app/control/messages/parts.h"

namespace campipe::messages {

// ---- To the reader of an edge

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

// ---- To its writer

// Its frame ring is to be replaced.
struct RenewRing {
  static constexpr std::string_view type = "renew_ring";
  EdgeId edge;
  std::optional<RingMemory> memory;  // of a master's: from now on
  static void fields(auto& m, auto&& f) { f("edge", m.edge), f("memory", m.memory); }
};

// ---- From its writer

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

}  // namespace campipe::messages
