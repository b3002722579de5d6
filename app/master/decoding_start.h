// What decoding of a camera is started with: nothing of where the camera is, nor of its passwords.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/config/drop_policy.h"
#include "app/config/group_config.h"
#include "app/config/on_corrupt.h"
#include "app/control/camera_placement.h"
#include "app/control/shed_step.h"
#include "app/rings/copy_target.h"
#include "ipc/ids.h"
#include "ipc/process_ids.h"
#include "stages/decoders/decoder.h"

namespace campipe {

class GroupClock;

struct DecodingStart {
  CameraId camera;
  ProcessId process = master_process;  // that decodes it: its page is written
  EdgeId edge;                         // its frame rings
  unsigned readers = 1;                // of each
  std::string name;
  bool live = false;   // a camera: reconnected for ever. Otherwise a file or the test pattern,
  bool loops = false;  // which may begin again and again
  int decode_threads = 1;
  OnCorrupt on_corrupt = OnCorrupt::show;
  DropPolicy drop_policy = DropPolicy::block;
  int queue_size = 1;
  std::optional<GroupConfig> group;
  Placement placement;
  std::uint64_t epoch = 1;                    // of the first ring
  std::uint64_t base = 0;                     // frames published in earlier epochs
  std::optional<std::int64_t> resume;         // the pts of the newest frame of a master that died
  std::optional<std::int64_t> resume_packet;  // AVPacket::pos of the packet that it came in
  bool replays = false;                       // packets come again, numbered as they were: out of a packet ring
  bool skips = false;                         // not those that its predecessor has tried: it crashed there, again
  bool decode = true;                         // some output needs frames, whether or not it is watched
  std::vector<OutputId> on_demand;            // else: outputs that need them only while they have viewers
  bool shown = false;                         // else: a mosaic needs them
  ShedStep shed = ShedStep::none;             // what it gives up
  std::vector<CopyTarget> copies;             // whose filters look at frames
  std::shared_ptr<GroupClock> group_clock;
  std::function<decltype(campipe::open_decoder)> open_decoder = campipe::open_decoder;
};

}  // namespace campipe
