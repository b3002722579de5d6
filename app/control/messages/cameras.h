// What source and masters are sent of cameras that they have, but for their configuration: messages
// (app/control/messages/parts.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "app/control/messages/parts.h"
#include "app/control/shed_step.h"

namespace campipe::messages {

// ---- To both

// A mosaic needs its frames, or needs them no more: of a camera that is not decoded otherwise.
struct ShowCamera {
  static constexpr std::string_view type = "show_camera";
  CameraId camera;
  bool shown = false;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("shown", m.shown); }
};

// End its source; what it has read is still handed over.
struct StopCamera : OfCamera {
  static constexpr std::string_view type = "stop_camera";
};

// Nothing of the camera is left, its ids are free.
struct ForgetCamera : OfCamera {
  static constexpr std::string_view type = "forget_camera";
};

// ---- To its master

// A camera's packets, from the source and on to its master.
struct SourceRing {
  static constexpr std::string_view type = "source_ring";
  static constexpr DescriptorCount descriptors{1, 1};
  CameraId camera;
  std::uint64_t epoch = 0;
  std::int64_t packet = 0;  // the number of its first packet
  bool again = false;       // of a source that goes on for one that died: what came before may come again
  static void fields(auto& m, auto&& f) {
    f("camera", m.camera), f("epoch", m.epoch), f("packet", m.packet), f("again", m.again);
  }
};

// No further one will come.
struct SourceRingsOver : OfCamera {
  static constexpr std::string_view type = "source_rings_over";
};

// What it gives up for other cameras, from now on.
struct ShedCamera {
  static constexpr std::string_view type = "shed_camera";
  CameraId camera;
  ShedStep step = ShedStep::none;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("step", m.step); }
};

// To its master. Another master takes over the camera: this one publishes nothing more and answers DecodingLeft.
struct LeaveCamera : OfCamera {
  static constexpr std::string_view type = "leave_camera";
};

}  // namespace campipe::messages
