#include "app/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "core/error.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {

// One for two cores: decoding, which the master does, and encoding share a machine about evenly.
std::size_t automatic_count(const Machine& machine) { return std::max<std::size_t>(machine.cpus.size() / 2, 1); }

}  // namespace

Machine this_machine() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) throw system_error("cannot read this machine's cores", errno);
  Machine machine;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) machine.cpus.push_back(cpu);
  }
  return machine;
}

std::vector<WorkerPlan> plan(const RigConfig& rig, const Machine& machine) {
  const std::size_t wanted = rig.worker_count ? static_cast<std::size_t>(*rig.worker_count) : automatic_count(machine);
  const std::size_t count = std::clamp<std::size_t>(wanted, 1, std::min<std::size_t>(rig.cameras.size(), max_workers));
  std::vector<WorkerPlan> workers(count);
  for (unsigned camera = 0; camera < rig.cameras.size(); ++camera) workers[camera % count].cameras.push_back(camera);
  const std::size_t cores = machine.cpus.size();
  if (count == 1 || count > cores) return workers;
  for (std::size_t w = 0; w < count; ++w) {
    for (std::size_t i = w * cores / count; i < (w + 1) * cores / count; ++i)
      workers[w].cpus.push_back(machine.cpus[i]);
  }
  return workers;
}

std::string describe(const std::vector<WorkerPlan>& workers, const RigConfig& rig) {
  std::string text;
  for (std::size_t w = 0; w < workers.size(); ++w) {
    std::vector<std::string> names;
    for (const unsigned camera : workers[w].cameras) names.push_back(rig.cameras[camera].name);
    const std::string cores =
        workers[w].cpus.empty() ? "all cores" : fmt::format("cores {}", fmt::join(workers[w].cpus, ","));
    text += fmt::format("worker {}  cpu  {}  cameras: {}\n", w, cores, fmt::join(names, ", "));
  }
  return text;
}

}  // namespace campipe
