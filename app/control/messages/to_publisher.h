// To the publisher: messages (app/control/messages/parts.h).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "app/config/server_config.h"
#include "app/config/stream_config.h"
#include "app/control/messages/answer.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/parts.h"
#include "app/control/messages/run.h"
#include "app/control/messages/shared_links.h"

namespace campipe::messages {

struct PublishOutput {
  static constexpr std::string_view type = "output";
  OutputId output;
  ResolvedOutput config;
  bool recording = true;              // what was asked last
  std::optional<std::string> events;  // the file for events
  std::string fence;                  // of a node of a cluster; empty: none
  bool motion = false;                // its motion is reported
  static void fields(auto& m, auto&& f) {
    f("output", m.output), f("config", m.config), f("recording", m.recording), f("events", m.events),
        f("fence", m.fence), f("motion", m.motion);
  }
};

// Of a node of a cluster, whose camera has got a newer one: its files are named by it from now on.
struct RecordUnder {
  static constexpr std::string_view type = "record_under";
  OutputId output;
  std::string fence;
  static void fields(auto& m, auto&& f) { f("output", m.output), f("fence", m.fence); }
};

// Nothing of it runs, but there may be recordings of it.
struct DisabledCamera {
  static constexpr std::string_view type = "disabled_camera";
  ResolvedOutput config;
  static void fields(auto& m, auto&& f) { f("config", m.config); }
};

struct Record {
  static constexpr std::string_view type = "record";
  OutputId output;
  bool on = true;
  static void fields(auto& m, auto&& f) { f("output", m.output), f("on", m.on); }
};

// No further ring of the output will come.
struct OutputOver : OfOutput {
  static constexpr std::string_view type = "output_over";
};

// Nothing of the output is left: its id is free.
struct ForgetOutput : OfOutput {
  static constexpr std::string_view type = "forget_output";
};

// Close every file as it is.
struct CloseFiles : Empty {
  static constexpr std::string_view type = "close_files";
};

struct ChangeServer {
  static constexpr std::string_view type = "server";
  ServerConfig server;
  static void fields(auto& m, auto&& f) { f("server", m.server); }
};

// Each second, for the API and the metrics: as docs/api.md describes it.
struct Status {
  static constexpr std::string_view type = "status";
  nlohmann::json status;
  static void fields(auto& m, auto&& f) { f("status", m.status); }
};
// As that of others (app/control/message_dispatch.h); but moves the status, which may be large.
nlohmann::json write_message(Status&& message);

using ToPublisher = MessageList<PublishOutput, DisabledCamera, Start, PacketRing, AudioRing, OutputOver, ForgetOutput,
                                Record, RecordUnder, CloseFiles, ChangeServer, Status, ShareLinks, Answer, RigOver>;

}  // namespace campipe::messages
