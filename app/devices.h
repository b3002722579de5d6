// What this machine offers: CPU, GPUs, decoders, encoders, and which memory two processes can share between which GPUs.
//
// The supervisor never touches CUDA: probe_devices() runs `campipe probe`, which looks, prints JSON and ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/frame.h"

namespace campipe {

struct HardwareDecoder {
  std::string codec;  // as FFmpeg calls it
  unsigned max_width = 0;
  unsigned max_height = 0;
  std::string problem;  // why not; empty: it works
};
struct HardwareEncoder {
  std::string name;     // as FFmpeg calls it, e.g. h264_nvenc
  std::string codec;
  std::string problem;  // FFmpeg's reason why it does not open; empty: it works
};

struct Gpu {
  unsigned index = 0;  // as nvidia-smi counts
  Device device;
  std::string name;
  std::string pci;  // "0000:0f:00.0"
  std::uint64_t memory_mib = 0;
  int numa_node = -1;          // -1: the machine does not say
  std::vector<unsigned> cpus;  // near ones that this process may run on; all of them where the machine does not say
  int copy_engines = 0;
  bool unified_addressing = false;
  std::vector<HardwareDecoder> decoders;
  std::vector<HardwareEncoder> encoders;
};

// From memory that a process fills on `from` to a process that reads it with `to` (the same GPU, or another).
struct GpuPair {
  Device from;
  Device to;
  bool peer_access = false;
  std::string link;                           // "same GPU", "NVLink (18 links)", "PCIe", …
  std::map<MemoryKind, std::string> sharing;  // kind → why it does not work; empty: it does
};

struct Devices {
  std::vector<Gpu> gpus;
  std::vector<GpuPair> pairs;
  std::string problem;  // why there are no GPUs; empty when there are
};

// Runs the probe, for at most `deadline`. Never throws: what went wrong is in `problem`.
Devices probe_devices(std::chrono::nanoseconds deadline);
nlohmann::json to_json(const Devices& devices);
Devices devices_from_json(const nlohmann::json& json);

// The first kind that works for the pair: cuda_vmm, cuda_legacy, host.
MemoryKind best_sharing(const Devices& devices, const Device& from, const Device& to);

// For `campipe --devices`: everything, as text or as JSON.
std::string describe_devices(const Devices& devices);
std::string describe_devices_json(const Devices& devices);

// The roles `probe` and `probe-peer` of the program: look at CUDA in this process. Return the exit status.
int run_probe();
int run_probe_peer();

}  // namespace campipe
