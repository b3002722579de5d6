// Where one camera's work is done, for the processes that do it, and what follows from that: rules that the running
// processes and the plan of the rig (app/placement/graph.h) share.
#pragma once

#include <vector>

#include "core/frame.h"
#include "core/gpu.h"

namespace campipe {

struct StreamConfig;

struct Placement {
  Device decode_gpu;                           // the CPU: libavcodec's own decoders
  std::vector<unsigned> decode_cpus;           // for its ingest thread; empty: not pinned
  MemoryKind memory = MemoryKind::host;        // of a ring that a GPU fills; others are of host memory
  ReadySignal ready = ReadySignal::immediate;  // likewise
  Device gpu;                                  // its worker's
  bool hardware_encoder = false;               // that GPU has an encoder of the codec
  double encode_cores = 1;                     // one output's share of the worker's cores, for `encode.threads: auto`
  static void fields(auto& m, auto&& f) {
    f("decode_gpu", m.decode_gpu), f("decode_cpus", m.decode_cpus), f("memory", m.memory), f("ready", m.ready),
        f("gpu", m.gpu), f("hardware_encoder", m.hardware_encoder), f("encode_cores", m.encode_cores);
  }
};

// What decodes the camera first, GPU or CPU. Not `compressed`: the test pattern, which the CPU paints.
inline Device first_decoder(const Placement& placement, bool compressed) {
  return compressed ? placement.decode_gpu : Device{};
}

// What a camera's frame ring is made of.
struct RingMemory {
  MemoryKind kind = MemoryKind::host;
  ReadySignal ready = ReadySignal::immediate;
  Device device;  // the GPU that fills it
  friend bool operator==(const RingMemory&, const RingMemory&) = default;
  static void fields(auto& m, auto&& f) { f("kind", m.kind), f("ready", m.ready), f("device", m.device); }
};
inline RingMemory ring_memory(const Placement& placement, bool filled_by_gpu) {
  return filled_by_gpu ? RingMemory{placement.memory, placement.ready, placement.decode_gpu} : RingMemory{};
}

// With a snapshot to take, the frames have to come to host memory anyway, so that a GPU's encoder is not tried.
bool tries_gpu_encoder(const Placement& placement, const StreamConfig& output);

}  // namespace campipe
