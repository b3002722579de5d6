// What the probe asks, part by part. CUDA only; in the probe's process and its helper's only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/placement/devices.h"

namespace campipe {

// Of this thread's GPU (use_gpu), by asking its driver.
std::vector<HardwareDecoder> hardware_decoders();
// By opening each on the GPU that CUDA knows by `index` in this process.
std::vector<HardwareEncoder> hardware_encoders(int index);

// NVIDIA's management library, where it is there.
class GpuLinks {
 public:
  GpuLinks();
  ~GpuLinks();
  GpuLinks(const GpuLinks&) = delete;
  GpuLinks& operator=(const GpuLinks&) = delete;
  // As nvidia-smi counts.
  [[nodiscard]] std::optional<unsigned> index_of(const std::string& pci) const;
  // How the two are connected, for people.
  [[nodiscard]] std::string link(const std::string& from, const std::string& to) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

// Tries every kind of memory between every pair of `gpus`, with a helper process that it starts; `found` is called for
// each pair. `link`: how two of them are connected.
void try_sharing(const std::vector<Gpu>& gpus, const std::function<std::string(const Gpu&, const Gpu&)>& link,
                 const std::function<void(const GpuPair&)>& found);

}  // namespace campipe
