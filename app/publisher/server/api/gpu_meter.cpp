// NVML is a part of the driver that need not be there, so it is loaded by hand, and the few of its declarations that
// are used stand here.
#include "app/publisher/server/api/gpu_meter.h"

#include <dlfcn.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace campipe {
namespace {

constexpr auto interval = std::chrono::seconds(1);
constexpr auto farewell = std::chrono::milliseconds(200);  // more is not waited for the library
constexpr int success = 0;
using NvmlDevice = void*;
struct Rates {
  unsigned gpu;
  unsigned memory;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Library {
  void* handle = nullptr;
  bool ready = false;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, NvmlDevice*) = nullptr;
  int (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*rates)(NvmlDevice, Rates*) = nullptr;
  int (*decoder)(NvmlDevice, unsigned*, unsigned*) = nullptr;
  int (*encoder)(NvmlDevice, unsigned*, unsigned*) = nullptr;
  int (*memory)(NvmlDevice, Memory*) = nullptr;
  // Libraries that know no instances have none of these.
  int (*mig_mode)(NvmlDevice, unsigned*, unsigned*) = nullptr;
  int (*most_instances)(NvmlDevice, unsigned*) = nullptr;
  int (*instance)(NvmlDevice, unsigned, NvmlDevice*) = nullptr;

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
    static_cast<void>(load(mig_mode, "nvmlDeviceGetMigMode") &&
                      load(most_instances, "nvmlDeviceGetMaxMigDeviceCount") &&
                      load(instance, "nvmlDeviceGetMigDeviceHandleByIndex"));
    return all && init() == success;
  }

  // Those that a GPU is divided into; itself, where it is not.
  [[nodiscard]] std::vector<NvmlDevice> parts_of(NvmlDevice gpu) const {
    std::vector<NvmlDevice> parts;
    unsigned current = 0;
    unsigned pending = 0;
    unsigned most = 0;
    const bool divided = instance != nullptr && mig_mode(gpu, &current, &pending) == success && current != 0 &&
                         most_instances(gpu, &most) == success;
    for (unsigned index = 0; divided && index < most; ++index) {
      NvmlDevice part = nullptr;
      if (instance(gpu, index, &part) == success) parts.push_back(part);
    }
    if (parts.empty()) parts.push_back(gpu);
    return parts;
  }

  [[nodiscard]] GpuUse look_at(NvmlDevice device) const {
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

}  // namespace

struct GpuMeter::Reader {
  void run();
  static std::vector<GpuUse> ask(const Library& library);

  std::mutex mutex;
  std::condition_variable changed;
  bool started = false;
  bool wanted = false;  // it was read since the library was asked
  bool leaving = false;
  bool over = false;
  std::vector<GpuUse> uses;
};

void GpuMeter::Reader::run() {
  {
    const Library library;
    std::unique_lock lock(mutex);
    while (library.ready && !leaving) {
      changed.wait(lock, [this] { return wanted || leaving; });
      if (leaving) break;
      wanted = false;
      lock.unlock();
      std::vector<GpuUse> newest = ask(library);
      lock.lock();
      uses = std::move(newest);
      changed.wait_for(lock, interval, [this] { return leaving; });
    }
  }
  const std::lock_guard lock(mutex);
  over = true;
  changed.notify_all();
}

std::vector<GpuUse> GpuMeter::Reader::ask(const Library& library) {
  std::vector<GpuUse> uses;
  unsigned gpus = 0;
  if (library.count(&gpus) != success) return uses;
  for (unsigned index = 0; index < gpus; ++index) {
    NvmlDevice device = nullptr;
    if (library.by_index(index, &device) != success) continue;
    for (NvmlDevice part : library.parts_of(device)) uses.push_back(library.look_at(part));
  }
  return uses;
}

GpuMeter::GpuMeter() : reader_(std::make_shared<Reader>()) {}

GpuMeter::~GpuMeter() {
  std::unique_lock lock(reader_->mutex);
  reader_->leaving = true;
  reader_->changed.notify_all();
  reader_->changed.wait_for(lock, farewell, [this] { return !reader_->started || reader_->over; });
}

std::vector<GpuUse> GpuMeter::read() {
  const std::lock_guard lock(reader_->mutex);
  if (!std::exchange(reader_->started, true)) std::thread([reader = reader_] { reader->run(); }).detach();
  reader_->wanted = true;
  reader_->changed.notify_all();
  return reader_->uses;
}

nlohmann::json to_json(const std::vector<GpuUse>& gpus) {
  using nlohmann::json;
  const auto percent = [](const std::optional<double>& part) { return part ? json(*part * 100) : json(); };
  const auto mib = [](const std::optional<std::uint64_t>& bytes) { return bytes ? json(*bytes >> 20U) : json(); };
  json all = json::array();
  for (const GpuUse& gpu : gpus) {
    all.push_back({{"uuid", gpu.uuid},
                   {"name", gpu.name},
                   {"utilization", percent(gpu.utilization)},
                   {"decoder", percent(gpu.decoder)},
                   {"memory_used_mib", mib(gpu.memory_used)},
                   {"memory_mib", mib(gpu.memory)}});
  }
  return all;
}

}  // namespace campipe
