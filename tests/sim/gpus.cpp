#include "tests/sim/gpus.h"

#include <algorithm>
#include <array>

#include "core/pretended_gpus.h"
#include "tests/sim/cores.h"

namespace campipe::sim {
namespace {

constexpr std::uint64_t memory_mib = 16'384;

unsigned index_of(const Device& device) { return device.gpu_uuid.back(); }

Gpu gpu_at(unsigned index) {
  Gpu gpu;
  gpu.index = index;
  gpu.device = pretended_gpu(index);
  gpu.name = "simulated";
  gpu.memory_mib = memory_mib;
  for (unsigned core = 0; core < Cores::number; ++core) gpu.cpus.push_back(core);
  gpu.decoders.push_back({"h264", 0, 0, ""});
  return gpu;
}

GpuPair pair_of(const Gpu& from, const Gpu& to) {
  GpuPair pair;
  pair.from = from.device;
  pair.to = to.device;
  pair.sharing[MemoryKind::host] = "";
  for (const MemoryKind kind : {MemoryKind::cuda_vmm, MemoryKind::cuda_legacy})
    pair.sharing[kind] = "simulated GPUs have no memory";
  pair.rates[MemoryKind::host].copied = 1;
  return pair;
}

}  // namespace

GpuTrouble trouble_of(const Fault& away) {
  constexpr std::array all{GpuTrouble::fails,     GpuTrouble::hangs,   GpuTrouble::crashes,
                           GpuTrouble::unchecked, GpuTrouble::forgets, GpuTrouble::fails};
  return all.at(away.detail % all.size());
}

std::optional<Device> Gpus::device_of(std::uint64_t number) const {
  if (count_ == 0) return std::nullopt;
  return pretended_gpu(static_cast<unsigned>(number % count_));
}

Devices Gpus::found() const {
  Devices devices;
  for (unsigned index = 0; index < count_; ++index) {
    if (trouble_of(pretended_gpu(index)) == GpuTrouble::none) devices.gpus.push_back(gpu_at(index));
  }
  for (const Gpu& from : devices.gpus) {
    for (const Gpu& to : devices.gpus) devices.pairs.push_back(pair_of(from, to));
  }
  devices.driver = count_ > 0;
  if (devices.gpus.empty()) devices.problem = "none answers";
  return devices;
}

void Gpus::take_away(const Device& device, GpuTrouble trouble, Clock::time_point until) {
  Absence& absence = away_[index_of(device)];
  absence.trouble = trouble;
  absence.until = std::max(absence.until, until);
}

GpuTrouble Gpus::trouble_of(const Device& device) const {
  const auto found = away_.find(index_of(device));
  if (!on_gpu(device) || found == away_.end() || world_.now() >= found->second.until) return GpuTrouble::none;
  return found->second.trouble;
}

Clock::time_point Gpus::back_at(const Device& device) const { return away_.at(index_of(device)).until; }

}  // namespace campipe::sim
