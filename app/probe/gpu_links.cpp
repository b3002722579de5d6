// How GPUs are connected. NVML is a part of the driver that need not be there, so it is loaded by hand, and the few
// of its declarations that are used stand here.
#include <dlfcn.h>

#include <algorithm>
#include <cctype>

#include "app/probe/gpu_probe.h"

namespace campipe {
namespace {

constexpr int nvml_success = 0;
constexpr int nvml_p2p_over_nvlink = 2;
constexpr unsigned most_links = 18;

using NvmlDevice = void*;
struct NvmlPci {
  char legacy_bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};

// NVML writes "00000000:0F:00.0" where the kernel writes "0000:0f:00.0".
std::string short_bus_id(std::string id) {
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return id.size() > 12 ? id.substr(id.size() - 12) : id;
}

std::string over_pcie(unsigned common_ancestor) {
  switch (common_ancestor) {
    case 0:
      return "PCIe (one board)";
    case 10:
      return "PCIe (one switch)";
    case 20:
      return "PCIe (several switches)";
    case 30:
      return "PCIe (over the host bridge)";
    case 40:
      return "PCIe (within a NUMA node)";
    default:
      return "PCIe (between NUMA nodes)";
  }
}

}  // namespace

struct GpuLinks::Library {
  void* handle = nullptr;
  bool ready = false;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_pci)(const char*, NvmlDevice*) = nullptr;
  int (*index)(NvmlDevice, unsigned*) = nullptr;
  int (*link_state)(NvmlDevice, unsigned, int*) = nullptr;
  int (*link_remote)(NvmlDevice, unsigned, NvmlPci*) = nullptr;
  int (*p2p_status)(NvmlDevice, NvmlDevice, int, int*) = nullptr;
  int (*common_ancestor)(NvmlDevice, NvmlDevice, unsigned*) = nullptr;

  template <typename Function>
  bool load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    return function != nullptr;
  }

  bool open() {
    handle = ::dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    const bool all =
        handle != nullptr && load(init, "nvmlInit_v2") && load(shutdown, "nvmlShutdown") &&
        load(by_pci, "nvmlDeviceGetHandleByPciBusId_v2") && load(index, "nvmlDeviceGetIndex") &&
        load(link_state, "nvmlDeviceGetNvLinkState") && load(link_remote, "nvmlDeviceGetNvLinkRemotePciInfo_v2") &&
        load(p2p_status, "nvmlDeviceGetP2PStatus") && load(common_ancestor, "nvmlDeviceGetTopologyCommonAncestor");
    return all && init() == nvml_success;
  }

  [[nodiscard]] NvmlDevice find(const std::string& pci) const {
    NvmlDevice device = nullptr;
    return ready && by_pci(pci.c_str(), &device) == nvml_success ? device : nullptr;
  }

  [[nodiscard]] std::string nvlinks(NvmlDevice from, const std::string& to) const {
    unsigned active = 0;
    unsigned direct = 0;
    for (unsigned link = 0; link < most_links; ++link) {
      int on = 0;
      if (link_state(from, link, &on) != nvml_success || on == 0) continue;
      ++active;
      NvmlPci remote{};
      if (link_remote(from, link, &remote) == nvml_success && short_bus_id(remote.bus_id) == to) ++direct;
    }
    // None leads to the other one itself: all of them do, through a switch.
    const unsigned links = direct > 0 ? direct : active;
    return "NVLink (" + std::to_string(links) + (links == 1 ? " link)" : " links)");
  }
};

GpuLinks::GpuLinks() : library_(std::make_unique<Library>()) { library_->ready = library_->open(); }

GpuLinks::~GpuLinks() {
  if (library_->ready) library_->shutdown();
  if (library_->handle != nullptr) ::dlclose(library_->handle);
}

std::optional<unsigned> GpuLinks::index_of(const std::string& pci) const {
  const NvmlDevice device = library_->find(pci);
  unsigned index = 0;
  if (device == nullptr || library_->index(device, &index) != nvml_success) return std::nullopt;
  return index;
}

std::string GpuLinks::link(const std::string& from, const std::string& to) const {
  if (from == to) return "same GPU";
  const NvmlDevice a = library_->find(from);
  const NvmlDevice b = library_->find(to);
  if (a == nullptr || b == nullptr) return "unknown link";
  int status = -1;
  if (library_->p2p_status(a, b, nvml_p2p_over_nvlink, &status) == nvml_success && status == 0) {
    return library_->nvlinks(a, to);
  }
  unsigned ancestor = 0;
  if (library_->common_ancestor(a, b, &ancestor) != nvml_success) return "unknown link";
  return over_pcie(ancestor);
}

}  // namespace campipe
