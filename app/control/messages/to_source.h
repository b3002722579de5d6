// To the source: messages (app/control/messages/parts.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "app/config/camera_config.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/parts.h"
#include "app/control/messages/run.h"

namespace campipe::messages {

// An output that takes packets as the source sends them.
struct Copy {
  OutputId output;
  std::uint64_t epoch = 1;                  // of the first ring
  std::uint64_t base = 0;                   // packets of earlier epochs
  std::optional<std::int64_t> resume;       // the dts of the newest packet that a source that died passed on
  std::optional<std::int64_t> shown_until;  // when the last frame that it passed on ends
  std::vector<FilterConfig> filters;        // that look at its frames
  static void fields(auto& m, auto&& f) {
    f("output", m.output), f("epoch", m.epoch), f("base", m.base), f("resume", m.resume),
        f("shown_until", m.shown_until), f("filters", m.filters);
  }
};

// An output that takes audio.
struct CopyAudio {
  OutputId output;
  std::uint64_t epoch = 1;             // of the first ring
  std::optional<std::int64_t> resume;  // the dts of the newest packet that a source that died passed on
  static void fields(auto& m, auto&& f) { f("output", m.output), f("epoch", m.epoch), f("resume", m.resume); }
};

struct ReadCamera {
  static constexpr std::string_view type = "read_camera";
  CameraId camera;
  CameraConfig config;
  std::uint64_t epoch = 1;             // of the first ring of packets to be decoded
  std::int64_t packet = 0;             // the number of its first packet
  std::optional<std::int64_t> resume;  // until then frames have come, or will, of a source that died
  std::int64_t set_move = 0;           // SetHealth::move
  bool decode = true;                  // some output needs frames, with or without viewers
  bool on_demand = false;              // else: some output needs them while it has viewers
  bool shown = false;                  // else: a mosaic needs them
  bool undecided = false;              // run like this only where the source sends what fits()
  std::vector<Copy> copies;
  std::vector<CopyAudio> audio;
  static void fields(auto& m, auto&& f) {
    f("camera", m.camera), f("config", m.config), f("epoch", m.epoch), f("packet", m.packet), f("resume", m.resume),
        f("set_move", m.set_move), f("decode", m.decode), f("on_demand", m.on_demand), f("shown", m.shown),
        f("undecided", m.undecided), f("copies", m.copies), f("audio", m.audio);
  }
};

// Nothing of the camera is decoded any more: of its outputs, those with codec `copy` that are named here go on.
struct EndDecoding {
  static constexpr std::string_view type = "end_decoding";
  CameraId camera;
  std::vector<OutputId> outputs;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("outputs", m.outputs); }
};

using ToSource = MessageList<ReadCamera, ShowCamera, EndDecoding, StopCamera, ForgetCamera, Drain, Leave>;

}  // namespace campipe::messages
