// What often goes wrong in containers, services and virtual machines, and how to mend it: found before a rig runs into
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/placement/devices.h"
#include "app/placement/machine_limits.h"

namespace campipe {

// What can be seen of NVIDIA's GPUs without calling their driver.
struct GpuFiles {
  std::vector<std::string> on_bus;       // their PCI addresses
  bool driver_loaded = false;            // into the kernel
  std::vector<std::string> devices;      // "/dev/nvidia0", of GPUs
  std::vector<std::string> missing;      // of the files that a process needs besides
  std::vector<std::string> not_allowed;  // files that this account may not use
  friend bool operator==(const GpuFiles&, const GpuFiles&) = default;
};
// `root`: as in read_machine_limits().
GpuFiles find_gpu_files(const std::filesystem::path& root = "/");

// A line for each thing that is wrong, with its remedy. `devices`: as the probe found them.
std::vector<std::string> gpu_problems(const GpuFiles& files, const Devices& devices);
// Of the limits that hold here, whatever the rig.
std::vector<std::string> limit_problems(const MachineLimits& limits);

// "descriptors 1048576, page-locked memory 8 MiB, memory 7930 MiB, no cgroup limits"
std::string describe(const MachineLimits& limits);

}  // namespace campipe
