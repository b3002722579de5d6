// Packet rings, from source or worker to the supervisor, and from there to the publisher: messages
// (app/control/messages/parts.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "app/control/messages/parts.h"
#include "core/packet.h"

namespace campipe::messages {

struct PacketRing {
  static constexpr std::string_view type = "packet_ring";
  static constexpr DescriptorCount descriptors{1, 1};
  OutputId output;
  std::uint64_t epoch = 0;
  StreamParameters stream;
  static void fields(auto& m, auto&& f) { f("output", m.output), f("epoch", m.epoch), f("stream", m.stream); }
};

struct AudioRing {
  static constexpr std::string_view type = "audio_ring";
  static constexpr DescriptorCount descriptors{1, 1};
  OutputId output;
  std::uint64_t epoch = 0;
  AudioParameters audio;
  static void fields(auto& m, auto&& f) { f("output", m.output), f("epoch", m.epoch), f("audio", m.audio); }
};

}  // namespace campipe::messages
