// From the publisher: messages (app/control/messages/parts.h).
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "app/control/messages/parts.h"
#include "app/control/messages/requests.h"
#include "app/control/messages/shared_links.h"

namespace campipe::messages {

// Everything that came of the output is done with.
struct OutputDone : OfOutput {
  static constexpr std::string_view type = "output_done";
};

// A ring of it that it was sent cannot be opened, through no process's fault.
struct RingLost : OutputReason {
  static constexpr std::string_view type = "ring_lost";
};

// It has read all of that ring.
struct PacketRingDone : OutputEpoch {
  static constexpr std::string_view type = "packet_ring_done";
};

struct AudioRingDone : OutputEpoch {
  static constexpr std::string_view type = "audio_ring_done";
};

struct FileBegun {
  static constexpr std::string_view type = "file";
  OutputId output;
  std::string path;
  static void fields(auto& m, auto&& f) { f("output", m.output), f("path", m.path); }
};

// For good.
struct RecordFailed : OutputReason {
  static constexpr std::string_view type = "record_failed";
};

struct RecordPaused : OutputReason {
  static constexpr std::string_view type = "record_paused";
};

struct RecordResumed : OfOutput {
  static constexpr std::string_view type = "record_resumed";
};

struct PushChanged {
  static constexpr std::string_view type = "push_state";
  OutputId output;
  std::string url;  // without its password
  std::string state;
  std::string reason;
  std::string cause;  // the reason without the target's address
  static void fields(auto& m, auto&& f) {
    f("output", m.output), f("url", m.url), f("state", m.state), f("reason", m.reason), f("cause", m.cause);
  }
};

template <typename... M, typename... R>
MessageList<M..., R...> with_requests(MessageList<M...>, std::variant<R...>*);
using FromPublisher =
    decltype(with_requests(MessageList<OutputDone, RingLost, PacketRingDone, AudioRingDone, FileBegun, RecordFailed,
                                       RecordPaused, RecordResumed, PushChanged, PeerLinks>(),
                           static_cast<Request*>(nullptr)));

}  // namespace campipe::messages
