// The course of the run, for processes of several kinds: messages (app/control/messages/parts.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "app/control/messages/parts.h"

namespace campipe::messages {

// To workers and the publisher: every camera that there is has been named.
struct Start {
  static constexpr std::string_view type = "start";
  std::uint32_t phase = 0;  // of the barrier; a successor finds the rig beyond 0
  static void fields(auto& m, auto&& f) { f("phase", m.phase); }
};

// To workers and the publisher: no further camera will come; leave when all are done.
struct RigOver : Empty {
  static constexpr std::string_view type = "rig_over";
};

// To source and masters: end all sources.
struct Drain : Empty {
  static constexpr std::string_view type = "drain";
};

// To these, and to the process of links.
struct Leave : Empty {
  static constexpr std::string_view type = "leave";
};

}  // namespace campipe::messages
