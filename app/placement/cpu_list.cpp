#include "app/placement/cpu_list.h"

#include <sched.h>

#include <charconv>
#include <fstream>
#include <optional>

namespace campipe {
namespace {

std::optional<unsigned> parse_cpu(const char*& at, const char* end) {
  unsigned cpu = 0;
  const auto result = std::from_chars(at, end, cpu);
  if (result.ec != std::errc() || cpu >= CPU_SETSIZE) return std::nullopt;
  at = result.ptr;
  return cpu;
}

}  // namespace

std::vector<unsigned> parse_cpu_list(const std::string& text) {
  std::vector<unsigned> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const auto first = parse_cpu(at, end);
    auto last = first;
    if (first && at != end && *at == '-') last = parse_cpu(++at, end);
    const bool ends_well = at == end || *at == ',';
    if (!first || !last || !ends_well) return {};
    for (unsigned cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    if (at != end) ++at;
  }
  return cpus;
}

std::string to_cpu_list(const std::vector<unsigned>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (last > i) text += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

NearPlace near_place(const std::string& pci) {
  const std::string folder = "/sys/bus/pci/devices/" + pci;
  NearPlace place;
  std::ifstream node(folder + "/numa_node");
  if (!(node >> place.numa_node)) place.numa_node = -1;
  std::string list;
  std::getline(std::ifstream(folder + "/local_cpulist"), list);
  place.cpus = parse_cpu_list(list);
  return place;
}

}  // namespace campipe
