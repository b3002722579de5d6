// Machines that are invented, for tests of what is planned.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "app/placement/plan.h"

namespace campipe {

inline Machine cpu_machine(std::vector<unsigned> cpus) { return {std::move(cpus), {}}; }

inline Device gpu_number(unsigned index) {
  Device device;
  device.gpu_uuid.fill(static_cast<std::uint8_t>(index + 1));
  return device;
}

inline std::vector<unsigned> cpus(unsigned first, unsigned count) {
  std::vector<unsigned> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

// Two nodes of eight cores, the first half of the GPUs near the first; every kind of memory works but the fabric.
inline Machine gpu_machine(unsigned gpus) {
  Machine machine{cpus(0, 16), {}};
  machine.devices.driver = true;
  for (unsigned i = 0; i < gpus; ++i) {
    Gpu gpu;
    gpu.index = i;
    gpu.device = gpu_number(i);
    gpu.name = "Test GPU";
    gpu.numa_node = 2 * i < gpus ? 0 : 1;
    gpu.cpus = cpus(gpu.numa_node == 0 ? 0 : 8, 8);
    gpu.decoders = {{"h264", 4096, 4096, ""}};
    gpu.encoders = {{"h264_nvenc", "h264", "No capable devices found"}};
    machine.devices.gpus.push_back(gpu);
    for (unsigned j = 0; j < gpus; ++j) {
      machine.devices.pairs.push_back(
          {gpu_number(i),
           gpu_number(j),
           true,
           "link",
           {{MemoryKind::cuda_vmm, ""},
            {MemoryKind::cuda_legacy, ""},
            {MemoryKind::host, ""},
            {MemoryKind::cuda_fabric, "not permitted"}},
           {{MemoryKind::cuda_vmm, {390, 370}}, {MemoryKind::cuda_legacy, {395, 370}}, {MemoryKind::host, {0, 55}}}});
    }
  }
  return machine;
}

inline GpuPair& pair_of(Machine& machine, unsigned from, unsigned to) {
  return machine.devices.pairs[from * machine.devices.gpus.size() + to];
}

}  // namespace campipe
