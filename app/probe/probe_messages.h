// Between the supervisor, the probe of the GPUs and its helper: messages (app/control/messages/parts.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/control/messages/parts.h"
#include "app/placement/devices.h"
#include "core/frame.h"
#include "core/gpu.h"

namespace campipe::messages {

// A part of what there is.
struct FoundDevices {
  static constexpr std::string_view type = "found";
  Devices devices;
  static void fields(auto& m, auto&& f) { f("devices", m.devices); }
};
// It has looked at everything.
struct ProbeDone : Empty {
  static constexpr std::string_view type = "done";
};
using FromProbe = MessageList<FoundDevices, ProbeDone>;

// To the helper: is what was written there what it reads? The descriptor: of a kind of memory that has one.
struct ReadShared {
  static constexpr std::string_view type = "read";
  static constexpr DescriptorCount descriptors{0, 1};
  MemoryKind kind = MemoryKind::host;
  Device to;
  std::vector<std::uint8_t> handle;  // of GpuHandle's size
  std::uint32_t seed = 0;
  static void fields(auto& m, auto&& f) { f("kind", m.kind), f("to", m.to), f("handle", m.handle), f("seed", m.seed); }
};
struct SharedRead {
  static constexpr std::string_view type = "answer";
  std::string problem;  // empty: it works
  double in_place = 0;  // GB/s; see ReadRates
  double copied = 0;
  static void fields(auto& m, auto&& f) { f("problem", m.problem), f("in_place", m.in_place), f("copied", m.copied); }
};

}  // namespace campipe::messages
