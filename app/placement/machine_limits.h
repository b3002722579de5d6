// What this process may use of the machine: the cgroups that it is in (v1 and v2), and the limits of its account, count
// where they are lower than what the machine has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace campipe {

struct MachineLimits {
  std::optional<double> cores;                 // that cgroups allow; none: no limit
  std::uint64_t memory = 0;                    // bytes that the machine has; 0: unknown
  std::optional<std::uint64_t> cgroup_memory;  // bytes that cgroups allow; none: no limit
  std::uint64_t descriptors = 0;               // of a process; 0: no limit
  std::optional<std::uint64_t> locked_memory;  // bytes that a process may lock (ulimit -l); none: no limit
  // What there is to use; 0: unknown.
  [[nodiscard]] std::uint64_t usable_memory() const;
};

// `root`: where /proc and /sys are, for tests. What cannot be read does not limit. Never throws.
MachineLimits read_machine_limits(const std::filesystem::path& root = "/");

// Of the cgroups alone.
struct CgroupLimits {
  std::optional<double> cores;
  std::optional<std::uint64_t> memory;
};
CgroupLimits read_cgroup_limits(const std::filesystem::path& root = "/");

}  // namespace campipe
