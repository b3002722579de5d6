// Sets of CPUs as the kernel writes them, and which are near a PCI device.
#pragma once

#include <string>
#include <vector>

namespace campipe {

// "0-3,8" → 0, 1, 2, 3, 8. What is no such list gives nothing.
std::vector<unsigned> parse_cpu_list(const std::string& text);
std::string to_cpu_list(const std::vector<unsigned>& cpus);  // ascending

struct NearPlace {
  int numa_node = -1;          // -1: unknown
  std::vector<unsigned> cpus;  // empty: likewise
};
// `pci`: "0000:0f:00.0".
NearPlace near_place(const std::string& pci);

}  // namespace campipe
