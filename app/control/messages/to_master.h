// To a master: messages (app/control/messages/parts.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "app/config/camera_config.h"
#include "app/control/camera_placement.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/parts.h"
#include "app/control/messages/run.h"

namespace campipe::messages {

struct DecodeCamera {
  static constexpr std::string_view type = "decode_camera";
  // An output whose packets are copied, and whose filters look at its frames.
  struct Look {
    OutputId output;
    std::vector<FilterConfig> filters;
    static void fields(auto& m, auto&& f) { f("output", m.output), f("filters", m.filters); }
  };
  CameraId camera;
  EdgeId edge;           // its frame rings
  unsigned readers = 1;  // of each
  CameraConfig config;   // what decoding needs of it: nothing of where the camera is
  bool live = false;
  Placement placement;
  std::uint64_t epoch = 1;                    // of the first frame ring
  std::uint64_t base = 0;                     // frames of earlier epochs
  std::optional<std::int64_t> resume;         // the pts of the newest frame of a master that died
  std::optional<std::int64_t> resume_packet;  // that it came in
  bool decode = true;                         // some output needs frames, with or without viewers
  std::vector<OutputId> on_demand;            // else: outputs that need them only while they have viewers
  bool shown = false;                         // else: a mosaic needs them
  ShedStep shed = ShedStep::none;             // what it gives up
  bool skips = false;                         // what masters have crashed at is not decoded again
  std::vector<Look> copies;
  static void fields(auto& m, auto&& f) {
    f("camera", m.camera), f("edge", m.edge), f("readers", m.readers), f("config", m.config), f("live", m.live),
        f("placement", m.placement), f("epoch", m.epoch), f("base", m.base), f("resume", m.resume),
        f("resume_packet", m.resume_packet), f("decode", m.decode), f("on_demand", m.on_demand), f("shown", m.shown),
        f("shed", m.shed), f("skips", m.skips), f("copies", m.copies);
  }
};

using ToMaster = MessageList<DecodeCamera, SourceRing, SourceRingsOver, ShowCamera, ShedCamera, StopCamera, RenewRing,
                             LeaveCamera, ForgetCamera, Drain, Leave>;

}  // namespace campipe::messages
