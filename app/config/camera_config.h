// A camera (its keys: app/config/keys/camera.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/config/drop_policy.h"
#include "app/config/mosaic_config.h"
#include "app/config/on_corrupt.h"
#include "app/config/stream_config.h"
#include "app/config/timestamps.h"
#include "core/frame.h"
#include "stages/sources/source_config.h"

namespace campipe {

// Where the stages of a camera's own stream run.
struct StagePlacement {
  std::string decode = "auto";          // auto, cpu, or a GPU
  std::vector<std::string> filter;      // cpu, cpu:N, or a GPU, of all filters or of each; none: where it is encoded
  std::string encode = "auto";          // likewise
  std::vector<std::string> tiles = {};  // by tile: a place for each, or auto; none: by stage
  friend bool operator==(const StagePlacement&, const StagePlacement&) = default;
};
// "cpu:1": the number of a worker on the CPU.
std::optional<unsigned> cpu_worker_of(const std::string& place);

// Whether a camera is decoded in a process of its own: automatic: once its stream has brought down another one.
enum class DecodeIsolation : std::uint8_t { automatic, always, never };

// In a cluster: what becomes of it where its node cannot say any more that it is still its node.
enum class OnPartition : std::uint8_t { keep, stop };

// A field for each key. A mosaic is one, too: a stream with all that a camera has but for its source.
struct CameraConfig : StreamConfig {
  SourceConfig source;
  std::optional<MosaicConfig> mosaic;          // in place of the source, which is then empty
  std::string gpu = "auto";                    // auto, cpu, or a GPU's index or UUID
  std::optional<StagePlacement> placement;     // by stage; none: all on `gpu`
  std::optional<MemoryKind> ipc_memory;        // of a ring that a GPU fills; none: auto
  std::optional<ReadySignal> ready_signal;     // likewise
  DropPolicy drop_policy = DropPolicy::block;  // `auto` is resolved when loading: live sources drop
  int queue_size = 8;                          // frames that may wait for the worker
  int decode_threads = 1;
  std::string decode_gpu = "auto";  // like gpu; auto: the same GPU
  DecodeIsolation decode_isolation = DecodeIsolation::automatic;
  bool for_browsers = false;  // where it sends what they do not play, it has one more output; see resolved()
  std::vector<OutputConfig> outputs;
  std::chrono::nanoseconds retry_interval = std::chrono::seconds(1);  // until a live source is opened again; doubles
  std::chrono::nanoseconds retry_max = std::chrono::seconds(30);
  OnCorrupt on_corrupt = OnCorrupt::show;
  Timestamps timestamps = Timestamps::camera;
  bool use_absolute_timestamp = true;  // frames carry the camera's own time, if its clock can be right
  int priority = 50;                   // 0 to 100: who gives way first
  OnPartition on_partition = OnPartition::keep;
  bool enabled = true;  // false: it has its place in the rig, and nothing of it runs
  friend bool operator==(const CameraConfig&, const CameraConfig&) = default;
};

// Its outputs as they are run: its own stream first, then the others in their order.
std::vector<ResolvedOutput> resolved_outputs(const CameraConfig& camera);

}  // namespace campipe
