#include "app/placement/preflight.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/first_word.h"
#include "core/gpu.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t few_descriptors = 4096;  // a rig of 64 cameras with viewers
constexpr std::uint64_t little_memory = 512ULL << 20;

// Of the kernel's PCI classes: displays, and what only computes.
bool is_nvidia_gpu(const fs::path& device) {
  const std::string kind = first_word_of(device / "class");
  return first_word_of(device / "vendor") == "0x10de" && (kind.starts_with("0x0300") || kind.starts_with("0x0302"));
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    all.push_back(entry->path());
  std::ranges::sort(all);
  return all;
}

bool is_gpu_device(const std::string& name) {
  constexpr std::string_view beginning = "nvidia";
  return name.starts_with(beginning) && name.size() > beginning.size() &&
         std::ranges::all_of(name.substr(beginning.size()), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool lacks_decoder_library(const Gpu& gpu) {
  return std::ranges::any_of(gpu.decoders, [](const HardwareDecoder& decoder) {
    return decoder.problem.find("libnvcuvid") != std::string::npos;
  });
}

}  // namespace

GpuFiles find_gpu_files(const fs::path& root) {
  GpuFiles found;
  for (const fs::path& device : entries_of(root / "sys/bus/pci/devices")) {
    if (is_nvidia_gpu(device)) found.on_bus.push_back(device.filename());
  }
  std::error_code error;
  found.driver_loaded = fs::exists(root / "proc/driver/nvidia/version", error);
  const auto look = [&](const std::string& name) {
    const fs::path file = root / "dev" / name;
    if (!fs::exists(file, error)) return false;
    if (::access(file.c_str(), R_OK | W_OK) != 0) found.not_allowed.push_back("/dev/" + name);
    return true;
  };
  for (const fs::path& entry : entries_of(root / "dev")) {
    const std::string name = entry.filename();
    if (is_gpu_device(name) && look(name)) found.devices.push_back("/dev/" + name);
  }
  for (const char* name : {"nvidiactl", "nvidia-uvm"}) {
    if (!look(name)) found.missing.push_back(std::string("/dev/") + name);
  }
  return found;
}

std::vector<std::string> gpu_problems(const GpuFiles& files, const Devices& devices) {
  std::vector<std::string> problems;
  const bool is_here = !files.on_bus.empty() || files.driver_loaded || !files.devices.empty();
  if (!is_here) return problems;
  if constexpr (!with_cuda) {
    problems.emplace_back("there are NVIDIA GPUs, but this campipe was built without CUDA: everything runs on the CPU");
    return problems;
  }
  if (!files.driver_loaded && files.devices.empty()) {
    problems.push_back(
        fmt::format("there is an NVIDIA GPU at {}, but its driver is not loaded: install it, or load it "
                    "(modprobe nvidia)",
                    fmt::join(files.on_bus, ", ")));
    return problems;
  }
  if (files.devices.empty()) {
    problems.emplace_back(
        "the NVIDIA driver is loaded, but there is no /dev/nvidia0: the GPUs are not passed to this container or "
        "service (docker run --gpus all; DeviceAllow= of the service)");
    return problems;
  }
  if (!files.missing.empty()) {
    problems.push_back(
        fmt::format("{} missing, which CUDA needs: run nvidia-modprobe -u -c=0 on the host, and pass "
                    "the file to the container",
                    fmt::join(files.missing, " and ")));
  }
  if (!files.not_allowed.empty()) {
    problems.push_back(
        fmt::format("this account may not use {}: add it to the group that owns the file (often video), "
                    "or allow it by DeviceAllow= of the service",
                    fmt::join(files.not_allowed, ", ")));
  }
  if (!devices.driver) {
    problems.emplace_back(
        "the GPUs are here, but libcuda.so.1 is not: install the driver's libraries of the same version; a container "
        "gets them with the driver capability 'compute' (NVIDIA_DRIVER_CAPABILITIES=compute,video,utility)");
  } else if (devices.gpus.empty()) {
    problems.push_back("the GPUs cannot be used: " + devices.problem);
  }
  for (const Gpu& gpu : devices.gpus) {
    if (!gpu.problem.empty()) problems.push_back(fmt::format("GPU {} cannot be used now: {}", gpu.index, gpu.problem));
  }
  if (std::ranges::any_of(devices.gpus, lacks_decoder_library)) {
    problems.emplace_back(
        "libnvcuvid.so.1 cannot be used, so that everything is decoded on the CPU: a container gets it with the driver "
        "capability 'video' (NVIDIA_DRIVER_CAPABILITIES=compute,video,utility)");
  }
  return problems;
}

std::vector<std::string> limit_problems(const MachineLimits& limits) {
  std::vector<std::string> problems;
  if (limits.descriptors > 0 && limits.descriptors < few_descriptors) {
    problems.push_back(
        fmt::format("a process may have {} descriptors, which is enough for few cameras: raise the limit "
                    "(ulimit -Hn, LimitNOFILE= of the service, docker run --ulimit nofile=)",
                    limits.descriptors));
  }
  if (limits.cores && *limits.cores < 1) {
    problems.push_back(
        fmt::format("a cgroup allows {:.2g} of a core, so that every process stands still for a part of "
                    "the time: allow at least one (CPUQuota= of the service, docker run --cpus=)",
                    *limits.cores));
  }
  if (limits.cgroup_memory && *limits.cgroup_memory < little_memory) {
    problems.push_back(
        fmt::format("a cgroup allows {} MiB of memory: beyond that the kernel kills processes. Four "
                    "cameras of 720p take about 250 (MemoryMax= of the service, docker run --memory=)",
                    *limits.cgroup_memory >> 20));
  }
  return problems;
}

std::string describe(const MachineLimits& limits) {
  const auto or_none = [](std::uint64_t value) { return value == 0 ? "unlimited" : std::to_string(value); };
  const std::string locked = limits.locked_memory ? fmt::format("{} KiB", *limits.locked_memory >> 10) : "unlimited";
  std::string text = fmt::format("descriptors {}, locked memory {}, memory {} MiB", or_none(limits.descriptors), locked,
                                 limits.memory >> 20);
  if (limits.cores) text += fmt::format("; a cgroup allows {:.3g} cores", *limits.cores);
  if (limits.cgroup_memory) text += fmt::format("; a cgroup allows {} MiB", *limits.cgroup_memory >> 20);
  return text;
}

}  // namespace campipe
