// What a camera's ingest is started with, and what it reports.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/config/config.h"
#include "app/control/camera_placement.h"
#include "app/control/known_stream.h"
#include "app/control/sent_stream.h"
#include "app/control/shed_step.h"
#include "app/master/copy_target.h"
#include "ipc/frame_ring.h"
#include "ipc/packet_ring.h"
#include "stages/decoders/decoder.h"
#include "stages/sources/source.h"

namespace campipe {

class GroupClock;

struct IngestStart {
  CameraId camera;
  EdgeId edge;           // its frame rings
  unsigned readers = 1;  // of each
  CameraConfig config;
  Placement placement;
  std::uint64_t epoch = 1;             // of the first ring
  std::uint64_t base = 0;              // frames published in earlier epochs
  std::optional<std::int64_t> resume;  // the pts of the newest frame of a master that died
  bool decode = true;                  // some output needs frames, whether or not it is watched
  std::vector<OutputId> on_demand;     // else: outputs that need them only while they have viewers
  bool shown = false;                  // else: a mosaic needs them
  ShedStep shed = ShedStep::none;      // what it gives up
  bool undecided = false;              // this configuration is valid only if the source sends what fits()
  std::vector<CopyTarget> copies;      // outputs that take the packets unchanged
  std::vector<CopyTarget> audio;       // recordings
  std::shared_ptr<GroupClock> group;   // that of config.group
  std::function<decltype(campipe::open_decoder)> open_decoder = campipe::open_decoder;
  std::function<decltype(campipe::open_source)> open_source = campipe::open_source;
};

// Called on the camera's ingest thread.
struct IngestEvents {
  // A ring to read from, after all before it. `decoder`: for people, "h264" or "h264 (nvdec)".
  std::function<void(const FrameRingMemory& ring, const SourceStream& stream, const std::string& decoder)> on_ring;
  // This process's context on the GPU is lost, with the rings of all cameras there: must end the process at once.
  std::function<void(const std::string& reason)> on_gpu_lost;
  // `failure`: empty if it ended as it should. `at_end`: the source has an end, and it was reached.
  std::function<void(const std::string& failure, bool at_end)> on_over;
  // A live source: delivers, or is away for this reason.
  std::function<void(bool delivers, const std::string& reason)> on_state = [](bool, const std::string&) {};
  // Of one that is undecided, what its source sends, each time that it was opened. If that does not play everywhere,
  // nothing is passed on until stop().
  std::function<void(const SentStream& sends)> on_stream = [](const SentStream&) {};
  // What the source sends, each time that it was opened.
  std::function<void(const KnownStream& stream)> on_opened = [](const KnownStream&) {};
  std::function<void(OutputId output, std::uint64_t epoch, const PacketRingMemory& ring, const StreamParameters&)>
      on_copy = [](OutputId, std::uint64_t, const PacketRingMemory&, const StreamParameters&) {};
  std::function<void(OutputId output, std::uint64_t epoch, const PacketRingMemory& ring, const AudioParameters&)>
      on_audio = [](OutputId, std::uint64_t, const PacketRingMemory&, const AudioParameters&) {};
};

}  // namespace campipe
