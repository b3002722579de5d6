#include "app/placement/plan.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/gpu.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {

// One place is left for cameras on the CPU.
constexpr std::size_t most_gpus = max_workers - 1;

// One for two cores: decoding, which the master does, and encoding share a machine about evenly.
std::size_t automatic_count(const Machine& machine) { return std::max<std::size_t>(machine.cpus.size() / 2, 1); }

// The i-th of n shares, which differ by at most one core. Empty where there are fewer cores than shares.
std::vector<unsigned> share_of(const std::vector<unsigned>& cpus, std::size_t i, std::size_t n) {
  if (n > cpus.size()) return {};
  const auto at = [&](std::size_t share) {
    return cpus.begin() + static_cast<std::ptrdiff_t>(share * cpus.size() / n);
  };
  return {at(i), at(i + 1)};
}

Device named_gpu(const std::string& name, const Devices& devices) {
  const Gpu* gpu = find_gpu(devices, name);
  if (gpu == nullptr) throw Error("there is no GPU " + name);
  return gpu->device;
}

bool is_choice(const std::string& gpu) { return gpu == "auto" || gpu == "cpu"; }

// How many cameras each GPU has, while they are given out.
class Shares {
 public:
  explicit Shares(const Devices& devices) : devices_(devices), cameras_(devices.gpus.size()) {}

  void add(const Device& device) { ++cameras_[position(device)]; }

  // Of those that can be used, one with the fewest cameras; the CPU where there is none.
  [[nodiscard]] Device least() const {
    const auto in_use = cameras_.size() - static_cast<std::size_t>(std::ranges::count(cameras_, 0U));
    const Gpu* best = nullptr;
    for (const Gpu& gpu : devices_.gpus) {
      const unsigned cameras = cameras_[position(gpu.device)];
      const bool possible = gpu.problem.empty() && (cameras > 0 || in_use < most_gpus);
      if (possible && (best == nullptr || cameras < cameras_[position(best->device)])) best = &gpu;
    }
    return best != nullptr ? best->device : Device{};
  }

 private:
  [[nodiscard]] std::size_t position(const Device& device) const {
    return static_cast<std::size_t>(find_gpu(devices_, device) - devices_.gpus.data());
  }

  const Devices& devices_;
  std::vector<unsigned> cameras_;
};

// The GPU of each camera. Those that name theirs come first, so that the others are spread around them.
std::vector<Device> choose_gpus(const RigConfig& rig, const Devices& devices) {
  std::vector<Device> chosen(rig.cameras.size());
  Shares shares(devices);
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    if (is_choice(rig.cameras[c].gpu)) continue;
    chosen[c] = named_gpu(rig.cameras[c].gpu, devices);
    shares.add(chosen[c]);
  }
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    if (rig.cameras[c].gpu != "auto") continue;
    chosen[c] = shares.least();
    if (on_gpu(chosen[c])) shares.add(chosen[c]);
  }
  return chosen;
}

bool decodes(const Gpu& gpu) {
  return std::ranges::any_of(gpu.decoders, [](const HardwareDecoder& d) { return d.problem.empty(); });
}

bool encodes(const Gpu& gpu, const std::string& codec) {
  return std::ranges::any_of(gpu.encoders,
                             [&](const HardwareEncoder& e) { return e.codec == codec && e.problem.empty(); });
}

// A ring that a GPU fills only a GPU's worker can read.
Device choose_decoder(const CameraConfig& camera, const Device& gpu, const Devices& devices) {
  // The latter perhaps.
  const bool decoded = needs_worker(camera) || is_auto(camera.encode);
  if (!on_gpu(gpu) || camera.decode_gpu == "cpu" || !decoded) return {};
  if (camera.decode_gpu != "auto") return named_gpu(camera.decode_gpu, devices);
  return decodes(*find_gpu(devices, gpu)) ? gpu : Device{};
}

std::vector<unsigned> near_cpus(const Device& gpu, const Machine& machine) {
  const std::vector<unsigned>& cpus = find_gpu(machine.devices, gpu)->cpus;
  return cpus == machine.cpus ? std::vector<unsigned>() : cpus;
}

// All that the worker encodes shares its cores.
double encode_cores(const WorkerPlan& worker, const RigConfig& rig, const Machine& machine) {
  unsigned outputs = 0;
  for (const unsigned c : worker.cameras) outputs += encoded_outputs(rig.cameras[c]);
  const auto cores = worker.cpus.empty() ? machine.cpus.size() : worker.cpus.size();
  return static_cast<double>(cores) / std::max(outputs, 1U);
}

Placement place(const CameraConfig& camera, const WorkerPlan& worker, const Machine& machine) {
  const Devices& devices = machine.devices;
  Placement placement;
  placement.gpu = worker.gpu;
  if (!on_gpu(worker.gpu)) return placement;
  const std::string codec = is_auto(camera.encode) ? EncoderConfig().codec : camera.encode.codec;
  placement.hardware_encoder = encodes(*find_gpu(devices, worker.gpu), codec);
  placement.decode_gpu = choose_decoder(camera, worker.gpu, devices);
  if (!on_gpu(placement.decode_gpu)) return placement;
  placement.decode_cpus = near_cpus(placement.decode_gpu, machine);
  placement.memory = camera.ipc_memory.value_or(best_sharing(devices, placement.decode_gpu, worker.gpu));
  placement.ready = camera.ready_signal.value_or(ReadySignal::ipc_event);
  return placement;
}

// A GPU's worker is near its GPU; GPUs in use that are near the same cores share them.
void pin_to_near_cores(std::vector<WorkerPlan>& workers, const Machine& machine) {
  std::map<std::vector<unsigned>, std::vector<WorkerPlan*>> groups;
  for (WorkerPlan& worker : workers) {
    const Gpu& gpu = *find_gpu(machine.devices, worker.gpu);
    worker.numa_node = gpu.numa_node;
    groups[gpu.cpus].push_back(&worker);
  }
  for (const auto& [cpus, group] : groups) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      group[i]->cpus = share_of(cpus, i, group.size());
      if (group[i]->cpus == machine.cpus) group[i]->cpus.clear();
    }
  }
}

std::vector<WorkerPlan> gpu_workers(const std::vector<Device>& chosen, const Machine& machine) {
  std::vector<WorkerPlan> workers;
  for (const Gpu& gpu : machine.devices.gpus) {
    WorkerPlan worker;
    worker.gpu = gpu.device;
    for (unsigned c = 0; c < chosen.size(); ++c) {
      if (chosen[c] == gpu.device) worker.cameras.push_back(c);
    }
    if (!worker.cameras.empty()) workers.push_back(std::move(worker));
  }
  pin_to_near_cores(workers, machine);
  return workers;
}

std::vector<WorkerPlan> cpu_workers(const std::vector<unsigned>& cameras, std::size_t wanted, std::size_t most,
                                    const Machine& machine) {
  const std::size_t count = std::clamp<std::size_t>(wanted, 1, std::min(cameras.size(), most));
  std::vector<WorkerPlan> workers(count);
  for (std::size_t i = 0; i < cameras.size(); ++i) workers[i % count].cameras.push_back(cameras[i]);
  for (std::size_t w = 0; count > 1 && w < count; ++w) workers[w].cpus = share_of(machine.cpus, w, count);
  return workers;
}

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

RigPlan plan(const RigConfig& rig, const Machine& machine) {
  const std::vector<Device> chosen = choose_gpus(rig, machine.devices);
  RigPlan plan;
  plan.workers = gpu_workers(chosen, machine);
  std::vector<unsigned> on_cpu;
  for (unsigned c = 0; c < chosen.size(); ++c) {
    if (!on_gpu(chosen[c])) on_cpu.push_back(c);
  }
  if (plan.workers.size() + (on_cpu.empty() ? 0 : 1) > max_workers) throw Error("more workers than there can be");
  if (!on_cpu.empty()) {
    const auto wanted = rig.worker_count ? static_cast<std::size_t>(*rig.worker_count) : automatic_count(machine);
    auto others = cpu_workers(on_cpu, wanted, max_workers - plan.workers.size(), machine);
    std::ranges::move(others, std::back_inserter(plan.workers));
  }
  plan.cameras.resize(rig.cameras.size());
  for (const WorkerPlan& worker : plan.workers) {
    const double cores = encode_cores(worker, rig, machine);
    for (const unsigned c : worker.cameras) {
      plan.cameras[c] = place(rig.cameras[c], worker, machine);
      plan.cameras[c].encode_cores = cores;
    }
  }
  return plan;
}

std::vector<unsigned> workers_of(const RigPlan& plan) {
  std::vector<unsigned> workers(plan.cameras.size());
  for (unsigned w = 0; w < plan.workers.size(); ++w) {
    for (const unsigned c : plan.workers[w].cameras) workers[c] = w;
  }
  return workers;
}

Placement placement_of_output(const Placement& camera, const StreamConfig& output, const Devices& devices) {
  Placement placement = camera;
  placement.hardware_encoder = on_gpu(camera.gpu) && encodes(*find_gpu(devices, camera.gpu), output.encode.codec);
  return placement;
}

unsigned encoded_outputs(const CameraConfig& camera) {
  const auto others = std::ranges::count_if(
      camera.outputs, [](const OutputConfig& output) { return !is_copy(output.encode) && !output.on_demand; });
  return static_cast<unsigned>(others) + (is_copy(camera.encode) || is_auto(camera.encode) ? 0 : 1);
}

bool encodes_on_demand(const CameraConfig& camera) {
  return std::ranges::any_of(camera.outputs,
                             [](const OutputConfig& output) { return !is_copy(output.encode) && output.on_demand; });
}

bool needs_worker(const CameraConfig& camera) { return encoded_outputs(camera) > 0 || encodes_on_demand(camera); }

}  // namespace campipe
