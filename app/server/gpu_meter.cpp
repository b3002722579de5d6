// NVML is a part of the driver that need not be there, so it is loaded by hand, and the few of its declarations that
// are used stand here.
#include "app/server/gpu_meter.h"

#include <dlfcn.h>

#include <array>

namespace campipe {
namespace {

constexpr int success = 0;
using Device = void*;
struct Rates {
  unsigned gpu;
  unsigned memory;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

}  // namespace

struct GpuMeter::Library {
  void* handle = nullptr;
  bool ready = false;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*rates)(Device, Rates*) = nullptr;
  int (*decoder)(Device, unsigned*, unsigned*) = nullptr;
  int (*encoder)(Device, unsigned*, unsigned*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;

  Library() { ready = open(); }
  ~Library() {
    if (ready) shutdown();
    if (handle != nullptr) ::dlclose(handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <typename Function>
  bool load(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(::dlsym(handle, symbol));
    return function != nullptr;
  }

  bool open() {
    handle = ::dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    const bool all = handle != nullptr && load(init, "nvmlInit_v2") && load(shutdown, "nvmlShutdown") &&
                     load(count, "nvmlDeviceGetCount_v2") && load(by_index, "nvmlDeviceGetHandleByIndex_v2") &&
                     load(uuid, "nvmlDeviceGetUUID") && load(name, "nvmlDeviceGetName") &&
                     load(rates, "nvmlDeviceGetUtilizationRates") && load(decoder, "nvmlDeviceGetDecoderUtilization") &&
                     load(encoder, "nvmlDeviceGetEncoderUtilization") && load(memory, "nvmlDeviceGetMemoryInfo");
    return all && init() == success;
  }

  // What the driver cannot tell of a GPU stays 0.
  [[nodiscard]] GpuUse look_at(Device device) const {
    GpuUse use;
    std::array<char, 96> text{};
    if (uuid(device, text.data(), static_cast<unsigned>(text.size())) == success) use.uuid = text.data();
    if (name(device, text.data(), static_cast<unsigned>(text.size())) == success) use.name = text.data();
    Rates busy{};
    if (rates(device, &busy) == success) use.utilization = busy.gpu / 100.0;
    unsigned percent = 0;
    unsigned period_us = 0;
    if (decoder(device, &percent, &period_us) == success) use.decoder = percent / 100.0;
    if (encoder(device, &percent, &period_us) == success) use.encoder = percent / 100.0;
    Memory bytes{};
    if (memory(device, &bytes) == success) {
      use.memory_used = bytes.used;
      use.memory = bytes.total;
    }
    return use;
  }
};

GpuMeter::GpuMeter() = default;
GpuMeter::~GpuMeter() = default;

std::vector<GpuUse> GpuMeter::read() {
  const std::lock_guard lock(mutex_);
  if (!library_) library_ = std::make_unique<Library>();
  if (!library_->ready || Clock::now() < next_) return uses_;
  next_ = Clock::now() + std::chrono::seconds(1);
  uses_.clear();
  unsigned gpus = 0;
  if (library_->count(&gpus) != success) return uses_;
  for (unsigned index = 0; index < gpus; ++index) {
    Device device = nullptr;
    if (library_->by_index(index, &device) == success) uses_.push_back(library_->look_at(device));
  }
  return uses_;
}

nlohmann::json to_json(const std::vector<GpuUse>& gpus) {
  nlohmann::json json = nlohmann::json::array();
  for (const GpuUse& gpu : gpus) {
    json.push_back({{"uuid", gpu.uuid},
                    {"name", gpu.name},
                    {"utilization", gpu.utilization * 100},
                    {"decoder", gpu.decoder * 100},
                    {"memory_used_mib", gpu.memory_used >> 20U},
                    {"memory_mib", gpu.memory >> 20U}});
  }
  return json;
}

}  // namespace campipe
