#pragma once

#include <vector>

#include "core/frame.h"
#include "core/gpu.h"

namespace campipe {

// Where one camera's work is done, for the processes that do it.
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

}  // namespace campipe
