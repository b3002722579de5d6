#include "app/placement/machine_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace campipe {
namespace {

namespace fs = std::filesystem;

// "MemTotal:       16318480 kB"
std::uint64_t memory_of_machine(const fs::path& root) {
  std::ifstream input(root / "proc/meminfo");
  std::string name, unit;
  std::uint64_t kib = 0;
  while (input >> name >> kib) {
    if (name == "MemTotal:") return kib * 1024;
    std::getline(input, unit);
  }
  return 0;
}

std::optional<std::uint64_t> soft_limit(__rlimit_resource which) {
  rlimit both{};
  if (::getrlimit(which, &both) != 0 || both.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return both.rlim_cur;
}

}  // namespace

std::uint64_t MachineLimits::usable_memory() const {
  if (!cgroup_memory) return memory;
  return memory == 0 ? *cgroup_memory : std::min(memory, *cgroup_memory);
}

MachineLimits read_machine_limits(const fs::path& root) {
  const CgroupLimits cgroups = read_cgroup_limits(root);
  MachineLimits limits;
  limits.cores = cgroups.cores;
  limits.cgroup_memory = cgroups.memory;
  limits.memory = memory_of_machine(root);
  limits.descriptors = soft_limit(RLIMIT_NOFILE).value_or(0);
  limits.locked_memory = soft_limit(RLIMIT_MEMLOCK);
  return limits;
}

}  // namespace campipe
