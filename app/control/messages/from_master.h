// From a master: messages (app/control/messages/parts.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/control/messages/edges.h"
#include "app/control/messages/parts.h"

namespace campipe::messages {

// All of that ring has been taken.
struct SourceRingDone {
  static constexpr std::string_view type = "source_ring_done";
  CameraId camera;
  std::uint64_t epoch = 0;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("epoch", m.epoch); }
};

// Whether a live camera is decoded. If not, the master retries; `reason` says why.
struct DecodingState {
  static constexpr std::string_view type = "decoding_state";
  CameraId camera;
  bool decodes = false;
  std::string reason;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("decodes", m.decodes), f("reason", m.reason); }
};

// No frame ring of the camera will come any more.
struct DecodingOver {
  static constexpr std::string_view type = "decoding_over";
  CameraId camera;
  std::string failure;  // empty: it ended as it should
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("failure", m.failure); }
};

// It was asked to leave it. What it has published can still be read.
struct DecodingLeft : OfCamera {
  static constexpr std::string_view type = "decoding_left";
};

using FromMaster = MessageList<FrameRing, SourceRingDone, DecodingState, DecodingOver, DecodingLeft>;

}  // namespace campipe::messages
