// What a rig takes of each device while it runs, predicted. A pure function of configuration, plan, devices, what its
// sources send, and costs.
//
// Counted is what has to be done in time: files that are read as fast as they go (`pace: fast`) take what is left, and
// what is encoded on demand nothing until somebody watches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/control/descriptor_limit.h"
#include "app/control/known_stream.h"
#include "app/placement/machine_costs.h"
#include "app/placement/plan.h"

namespace campipe {

struct CameraConfig;
struct RigConfig;

// What the configuration says of a source before it is opened: of test patterns. Nothing: it does not.
std::optional<KnownStream> configured_stream(const CameraConfig& camera);
KnownStreams configured_streams(const RigConfig& rig);
// What the camera sends as far as is known: as it was opened, or is configured; else a usual stream.
KnownStream expected_stream(const CameraConfig& camera, const KnownStreams& opened);

struct GpuNeeds {
  Device gpu;
  double decode = 0;             // part of the time of its decoders: 1 is all of it
  double decode_megapixels = 0;  // a second
  double busy = 0;               // part of its time, for filters and mosaics
  double up = 0;                 // bytes a second from host memory
  double down = 0;               // and to it
  double memory = 0;             // bytes
};

struct CoreNeeds {
  double decode = 0;
  double filter = 0;
  double encode = 0;
  double rest = 0;
  [[nodiscard]] double sum() const { return decode + filter + encode + rest; }
};

// The work of one thread, which cannot be shared out to more cores.
struct ThreadNeeds {
  std::string name;     // "dock: decoding", "dock: filters and encoding"
  double busy = 0;      // part of its time: above 1 it cannot hold the rate, however many cores there are
  bool on_gpu = false;  // most of it is a GPU's time
};

struct RigNeeds {
  std::vector<GpuNeeds> gpus;  // all of the machine
  CoreNeeds cores;
  std::vector<ThreadNeeds> threads;
  double memory = 0;         // bytes, of the host
  double locked_memory = 0;  // bytes of it that GPUs read and write
  DescriptorNeeds descriptors;
  std::vector<std::string> unknown_streams;  // cameras whose stream is not known: of them only descriptors are counted
};

RigNeeds find_needs(const RigConfig& rig, const RigPlan& plan, const Devices& devices, const MachineCosts& costs,
                    const KnownStreams& streams);

}  // namespace campipe
