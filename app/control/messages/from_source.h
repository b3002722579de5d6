// From the source: messages (app/control/messages/parts.h).
#pragma once

#include <string>
#include <string_view>

#include "app/control/known_stream.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/parts.h"
#include "app/control/sent_stream.h"

namespace campipe::messages {

struct SourceOver {
  static constexpr std::string_view type = "source_over";
  CameraId camera;
  std::string failure;  // empty: it ended as it should
  bool at_end = false;  // the source itself has an end, and was there
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("failure", m.failure), f("at_end", m.at_end); }
};

// Whether a live source delivers something that can be shown.
struct SourceState {
  static constexpr std::string_view type = "source_state";
  CameraId camera;
  bool delivers = false;
  std::string reason;  // why not
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("delivers", m.delivers), f("reason", m.reason); }
};

// What an undecided camera's source sends (app/control/sent_stream.h).
struct FoundStream {
  static constexpr std::string_view type = "sent_stream";
  CameraId camera;
  SentStream sends;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("sends", m.sends); }
};

// What a camera's source sends, each time that it has been opened.
struct OpenedStream {
  static constexpr std::string_view type = "opened_stream";
  CameraId camera;
  KnownStream stream;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("stream", m.stream); }
};

using FromSource = MessageList<SourceRing, PacketRing, AudioRing, SourceOver, SourceState, FoundStream, OpenedStream>;

}  // namespace campipe::messages
