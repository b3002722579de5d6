// What this machine offers: CPU, GPUs, decoders, encoders, and which memory two processes can share between which GPUs.
//
// The supervisor never touches CUDA: probe_devices() runs `campipe probe`, which looks, reports what it found over its
// control channel, and ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/config/mps.h"
#include "core/frame.h"

namespace campipe {

class RigSignals;

struct HardwareDecoder {
  std::string codec;  // as FFmpeg calls it
  unsigned max_width = 0;
  unsigned max_height = 0;
  std::string problem;  // why not; empty: it works
};
struct HardwareEncoder {
  std::string name;  // as FFmpeg calls it, e.g. h264_nvenc
  std::string codec;
  std::string problem;  // FFmpeg's reason why it does not open; empty: it works
};

inline constexpr unsigned no_gpu_index = std::numeric_limits<unsigned>::max();

struct Gpu {
  unsigned index = 0;  // as nvidia-smi counts; no_gpu_index: it is awaited, and named by its UUID
  Device device;
  std::string name;
  std::string problem;   // why it cannot be used now (its memory is full, …); empty: it can
  std::string gone;      // why nothing is to be placed there while the rig runs; empty: it is here
  bool awaited = false;  // gone since before the rig used it, and nothing else is known of it (missing_gpus.h)
  std::string pci;       // "0000:0f:00.0"
  std::uint64_t memory_mib = 0;
  int numa_node = -1;          // -1: unknown
  std::vector<unsigned> cpus;  // near ones that this process may run on; all of them where that is unknown
  int copy_engines = 0;
  bool unified_addressing = false;
  bool integrated = false;  // it has no memory of its own, as on a Jetson: memory_mib are the machine's
  std::vector<HardwareDecoder> decoders;
  std::vector<HardwareEncoder> encoders;
};

// In GB/s, measured by the process that reads.
struct ReadRates {
  double in_place = 0;  // a kernel that reads everything once; 0: of host memory, which is always copied
  double copied = 0;    // into the reader's own memory
  friend bool operator==(const ReadRates&, const ReadRates&) = default;
};

// From memory that a process fills on `from` to a process that reads it with `to` (the same GPU, or another).
struct GpuPair {
  Device from;
  Device to;
  bool peer_access = false;
  std::string link;                           // "same GPU", "NVLink (18 links)", "PCIe", …
  std::map<MemoryKind, std::string> sharing;  // kind → why it does not work; empty: it does
  std::map<MemoryKind, ReadRates> rates;      // of those that work
};

struct Devices {
  std::vector<Gpu> gpus;
  std::vector<GpuPair> pairs;
  bool driver = false;  // this program can use CUDA, and there is a driver for it
  std::string problem;  // why there are no GPUs; empty when there are
};

// Runs the probe, for at most `deadline`, and no longer than until one of `signals` asks to end; without a driver only
// a look for one, which takes milliseconds. Never throws: what went wrong is in `problem`.
Devices probe_devices(std::chrono::nanoseconds deadline, Mps mps = Mps::off, RigSignals* signals = nullptr);
inline constexpr auto probe_for_people = std::chrono::seconds(60);  // where somebody waits for what it found
nlohmann::json to_json(const Devices& devices);
Devices devices_from_json(const nlohmann::json& json);

// Null where there is none.
const Gpu* find_gpu(const Devices& devices, const Device& device);
// By index or UUID, as people name one. Null where there is none.
const Gpu* find_gpu(const Devices& devices, const std::string& name);
// Reads the name of a GPU as its index. Nothing: `name` is no index.
std::optional<unsigned> gpu_index(const std::string& name);
const GpuPair* find_pair(const Devices& devices, const Device& from, const Device& to);
// "0 (NVIDIA H200, GPU-5f0c…), 1 (…)", without those that are awaited, for people who named one that is not there.
std::string list_gpus(const Devices& devices);

// Why memory of a kind that is on that GPU cannot be shared, so that it is not even tried; empty: it may be.
std::string excluded_sharing(const Gpu& gpu, MemoryKind kind);
// The kind that the reader's filters read fastest, of those that work for the pair. Of kinds that are about as fast the
// first: cuda_vmm, cuda_legacy, host.
MemoryKind best_sharing(const Devices& devices, const Device& from, const Device& to);
// How fast the reader's filters read a kind, in GB/s: frames in a GPU's memory in place, others are copied first.
// Nothing: it was not measured.
std::optional<double> read_rate(const Devices& devices, const Device& from, const Device& to, MemoryKind kind);
// Why a kind does not work for the pair; empty: it does.
std::string sharing_problem(const Devices& devices, const Device& from, const Device& to, MemoryKind kind);

// For `campipe --devices`: everything, as text or as JSON.
std::string describe_devices(const Devices& devices);
std::string describe_devices_json(const Devices& devices);

// CUDA only. The roles `probe` and `probe-peer` of the program: look at CUDA in this process. Return the exit status.
int run_probe();
int run_probe_peer();

}  // namespace campipe
