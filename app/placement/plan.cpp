#include "app/placement/plan.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "app/config/rig_config.h"
#include "app/placement/camera_weights.h"
#include "app/placement/mosaic_plan.h"
#include "app/placement/stand_ins.h"
#include "app/placement/wanted_nodes.h"
#include "core/error.h"
#include "core/gpu.h"
#include "ipc/process_ids.h"
#include "stages/sources/source.h"

namespace campipe {
namespace {

// One for two cores: decoding, which masters do, and encoding share a machine about evenly.
std::size_t automatic_count(const Machine& machine) {
  return std::max<std::size_t>(static_cast<std::size_t>(machine.cores() / 2), 1);
}

// The i-th of n shares, which differ by at most one core. Empty where there are fewer cores than shares.
std::vector<unsigned> share_of(const std::vector<unsigned>& cpus, std::size_t i, std::size_t n) {
  if (n > cpus.size()) return {};
  const auto at = [&](std::size_t share) {
    return cpus.begin() + static_cast<std::ptrdiff_t>(share * cpus.size() / n);
  };
  return {at(i), at(i + 1)};
}

bool decodes(const Gpu& gpu) {
  return std::ranges::any_of(gpu.decoders, [](const HardwareDecoder& d) { return d.problem.empty(); });
}

bool encodes(const Gpu& gpu, const std::string& codec) {
  return std::ranges::any_of(gpu.encoders,
                             [&](const HardwareEncoder& e) { return e.codec == codec && e.problem.empty(); });
}

// What `placement` does not say, follows the first node's GPU; what a GPU decodes, a node on the CPU gets only there.
// `shown`: by a mosaic.
Device choose_decoder(const CameraConfig& camera, bool shown, const Device& gpu, const Devices& devices) {
  // The latter perhaps.
  if (camera.mosaic) return {};
  const bool decoded = shown || needs_worker(camera) || is_auto(camera.encode);
  const bool staged = camera.placement && camera.placement->decode != "auto";
  const std::string& asked = staged ? camera.placement->decode : camera.decode_gpu;
  if (asked == "cpu" || !decoded || decodes_together(camera)) return {};
  if (!is_choice(asked) && (staged || on_gpu(gpu))) return named_gpu(asked, devices);
  if (!on_gpu(gpu)) return {};
  return decodes(*find_gpu(devices, gpu)) ? gpu : Device{};
}

// Of frames that one device makes for another. A node on the CPU never waits for a GPU, and a node publishes only what
// is complete.
RingMemory memory_between(const CameraConfig& camera, const Device& from, const Device& to, ReadySignal ready,
                          const Devices& devices) {
  if (!on_gpu(from)) return {};
  if (!on_gpu(to)) return {MemoryKind::host, ReadySignal::immediate, from};
  const bool is_good = camera.ipc_memory && sharing_problem(devices, from, to, *camera.ipc_memory).empty();
  return {is_good ? *camera.ipc_memory : best_sharing(devices, from, to), ready, from};
}

std::vector<unsigned> near_cpus(const Device& gpu, const Machine& machine) {
  const std::vector<unsigned>& cpus = find_gpu(machine.devices, gpu)->cpus;
  return cpus == machine.cpus ? std::vector<unsigned>() : cpus;
}

// All that the worker encodes shares its cores.
double encode_cores(unsigned number, const RigPlan& plan, const RigConfig& rig, const Machine& machine) {
  const WorkerPlan& worker = plan.workers[number];
  unsigned outputs = 0;
  for (const unsigned c : worker.cameras) {
    const CameraConfig& camera = rig.cameras[c];
    const std::vector<NodePlan>& nodes = plan.cameras[c].nodes;
    const unsigned own = encodes_own(camera) ? 1 : 0;
    if (nodes.front().worker == number) outputs += encoded_outputs(camera) - own;
    if (nodes.back().worker == number) outputs += own;
  }
  const auto cores = static_cast<double>(worker.cpus.empty() ? machine.cpus.size() : worker.cpus.size());
  const double time = machine.cpus.empty() ? 1 : machine.cores() / static_cast<double>(machine.cpus.size());
  return cores * time / std::max(outputs, 1U);
}

Placement with_host_memory(Placement placement) {
  placement.memory = MemoryKind::host;
  placement.ready = ReadySignal::immediate;
  return placement;
}

// From the source to the nodes on these GPUs, of which the first is the first node's.
Placement place_source(const CameraConfig& camera, bool shown, const std::vector<Device>& gpus,
                       const Machine& machine) {
  const Devices& devices = machine.devices;
  const Device& gpu = gpus.front();
  Placement placement;
  placement.gpu = gpu;
  placement.decode_gpu = choose_decoder(camera, shown, gpu, devices);
  if (!on_gpu(placement.decode_gpu)) return placement;
  placement.decode_cpus = near_cpus(placement.decode_gpu, machine);
  const RingMemory memory =
      memory_between(camera, placement.decode_gpu, gpu, camera.ready_signal.value_or(ReadySignal::ipc_event), devices);
  placement.memory = memory.kind;
  placement.ready = memory.ready;
  for (const Device& other : gpus) {
    if (!on_gpu(other)) return with_host_memory(placement);  // such as a tile on another node
    if (!sharing_problem(devices, placement.decode_gpu, other, placement.memory).empty())
      placement.memory = MemoryKind::host;  // one ring for all of them
  }
  return placement;
}

CameraPlan place(const CameraConfig& camera, bool shown, const WantedNodes& wanted, const Machine& machine) {
  CameraPlan plan;
  plan.tiles = is_tiled(camera) ? static_cast<unsigned>(wanted.size() - 1) : 0;
  std::vector<Device> readers;  // of the source's frames
  for (std::size_t n = 0; n < std::max(plan.tiles, 1U); ++n) readers.push_back(wanted[n].gpu);
  plan.placement = place_source(camera, shown, readers, machine);
  plan.nodes.clear();
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    const WantedNode& node = wanted[n];
    NodePlan& planned = plan.nodes.emplace_back();
    planned.gpu = node.gpu;
    planned.cpu_worker = node.cpu_worker;
    planned.further = node.further;
    planned.first_filter = node.first_filter;
    planned.remote = node.remote;
    if (!node.remote.empty()) planned.worker = no_worker;
    if (n + 1 == wanted.size()) continue;
    const Device& next = n < plan.tiles ? wanted.back().gpu : wanted[n + 1].gpu;
    planned.output = memory_between(camera, node.gpu, next, ReadySignal::immediate, machine.devices);
  }
  return plan;
}

void place_cells(const RigConfig& rig, RigPlan& plan, const Devices& devices) {
  std::map<std::string_view, std::size_t> places;
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    if (rig.cameras[c].enabled && !rig.cameras[c].mosaic) places[rig.cameras[c].name] = c;
  }
  for (std::size_t m = 0; m < rig.cameras.size(); ++m) {
    if (!rig.cameras[m].mosaic) continue;
    const Device& to = plan.cameras[m].nodes.front().gpu;
    for (const MosaicCell& cell : rig.cameras[m].mosaic->cells) {
      RingMemory& memory = plan.cameras[m].cells.emplace_back();
      const auto found = places.find(cell.camera);
      if (found == places.end()) continue;
      memory = cell_memory(rig.cameras[found->second], plan.cameras[found->second].nodes.back().gpu, to, devices);
    }
  }
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

// Each camera's nodes on a GPU are in its one worker.
std::vector<WorkerPlan> gpu_workers(std::vector<CameraPlan>& cameras, const Machine& machine) {
  std::vector<WorkerPlan> workers;
  for (const Gpu& gpu : machine.devices.gpus) {
    WorkerPlan worker;
    worker.gpu = gpu.device;
    for (unsigned c = 0; c < cameras.size(); ++c) {
      bool here = false;
      for (NodePlan& node : cameras[c].nodes) {
        if (node.gpu != gpu.device) continue;
        node.worker = static_cast<unsigned>(workers.size());
        here = true;
      }
      if (here) worker.cameras.push_back(c);
    }
    if (!worker.cameras.empty()) workers.push_back(std::move(worker));
  }
  pin_to_near_cores(workers, machine);
  return workers;
}

// The node is one of any of the CPU's workers.
bool is_on_cpu(const NodePlan& node) { return !on_gpu(node.gpu) && node.remote.empty(); }
bool is_free(const NodePlan& node) { return is_on_cpu(node) && !node.cpu_worker; }

// Why these workers on the CPU are not there, and what to do. `named`: "cpu:7"; empty: the tiles.
std::string lacks_workers(const std::string& named, std::size_t needed, std::size_t there, const RigConfig& rig) {
  const std::string most = rig.worker_count ? fmt::format("workers.count: {}", *rig.worker_count)
                                            : fmt::format("there can be {} besides those of GPUs", there);
  const std::string less = named.empty() ? "use fewer tiles" : "name another one";
  return fmt::format("{} take{} {} workers on the CPU ({}); {}{}", named.empty() ? "tiles" : named,
                     named.empty() ? "" : "s", needed, most, rig.worker_count ? "raise `workers.count`, or " : "",
                     less);
}

unsigned cpu_worker_count(const std::vector<CameraPlan>& cameras, const RigConfig& rig, std::size_t most,
                          const Machine& machine) {
  const auto there = rig.worker_count ? std::min(static_cast<std::size_t>(*rig.worker_count), most) : most;
  std::size_t least = 0;
  std::size_t free = 0;  // workers that nodes use that are of any of them
  std::vector<PlanMistake> mistakes;
  const auto require = [&](std::size_t camera, const std::string& named, std::size_t needed) {
    if (needed > there) mistakes.push_back({camera, named, lacks_workers(named, needed, there, rig)});
  };
  for (std::size_t c = 0; c < cameras.size(); ++c) {
    std::size_t workers = 0;
    for (const NodePlan& node : cameras[c].nodes) {
      if (is_free(node)) workers = std::max<std::size_t>(workers, node.further + 1);
      if (!node.cpu_worker) continue;
      require(c, "cpu:" + std::to_string(*node.cpu_worker), *node.cpu_worker + 1);
      least = std::max<std::size_t>(least, *node.cpu_worker + 1);
    }
    free += workers;
    if (cameras[c].tiles == 0) continue;
    require(c, "", workers);
    least = std::max(least, workers);
  }
  if (!mistakes.empty()) throw PlanError(std::move(mistakes), rig);
  const auto wanted = rig.worker_count ? static_cast<std::size_t>(*rig.worker_count) : automatic_count(machine);
  const std::size_t count = std::max(least, std::min(wanted, free));
  if (count > most && most == 0) throw Error("more workers than there can be");
  return static_cast<unsigned>(std::min(count, most));
}

// For each node on the CPU its worker, counted from 0: those of each camera go round the workers.
void go_round(std::vector<CameraPlan>& cameras, unsigned count) {
  unsigned next = 0;
  for (CameraPlan& camera : cameras) {
    const unsigned of_free = next;
    for (NodePlan& node : camera.nodes) {
      if (is_free(node)) next = std::max(next, of_free + node.further + 1);
      if (is_on_cpu(node)) node.worker = node.cpu_worker.value_or((of_free + node.further) % count);
    }
  }
}

// Likewise: those of each camera are in the workers that have the least to do so far.
void spread(std::vector<CameraPlan>& cameras, unsigned count, const std::vector<double>& cores) {
  std::vector<std::pair<double, unsigned>> busy(count);  // cores, and how many nodes
  const auto add = [&](std::size_t c, NodePlan& node, unsigned worker) {
    node.worker = worker;
    busy[worker].first += cores[c] / static_cast<double>(cameras[c].nodes.size());
    ++busy[worker].second;
  };
  for (std::size_t c = 0; c < cameras.size(); ++c) {
    for (NodePlan& node : cameras[c].nodes) {
      if (node.cpu_worker) add(c, node, *node.cpu_worker);
    }
  }
  std::vector<unsigned> workers(count);
  std::iota(workers.begin(), workers.end(), 0U);
  for (std::size_t c = 0; c < cameras.size(); ++c) {
    std::ranges::sort(workers, {}, [&](unsigned worker) { return std::pair(busy[worker], worker); });
    for (NodePlan& node : cameras[c].nodes) {
      if (is_free(node)) add(c, node, workers[node.further % count]);
    }
  }
}

// `first`: their places in the plan begin there. `cores`: what each camera's nodes need; empty: all the same.
std::vector<WorkerPlan> cpu_workers(std::vector<CameraPlan>& cameras, unsigned count, unsigned first,
                                    const std::vector<double>& cores, const Machine& machine) {
  std::vector<WorkerPlan> workers(count);
  cores.empty() ? go_round(cameras, count) : spread(cameras, count, cores);
  for (unsigned c = 0; c < cameras.size(); ++c) {
    for (NodePlan& node : cameras[c].nodes) {
      if (!is_on_cpu(node)) continue;
      std::vector<unsigned>& its = workers[node.worker].cameras;
      if (its.empty() || its.back() != c) its.push_back(c);
      node.worker += first;
    }
  }
  for (unsigned w = 0; count > 1 && w < count; ++w) workers[w].cpus = share_of(machine.cpus, w, count);
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
  machine.limits = read_machine_limits();
  return machine;
}

double Machine::cores() const {
  const auto all = static_cast<double>(cpus.size());
  return limits.cores ? std::min(*limits.cores, all) : all;
}

namespace {

// `rig` names no GPU that is gone.
RigPlan plan_on_these(const RigConfig& rig, const Machine& machine, std::span<const CameraWeight> weights) {
  std::vector<double> cores;
  std::vector<double> gpu_parts;  // with its part of the cores, of which there are some for each GPU
  const double gpus_a_core = static_cast<double>(machine.devices.gpus.size()) / std::max(machine.cores(), 1.0);
  for (const CameraWeight& weight : weights) {
    cores.push_back(weight.cores);
    gpu_parts.push_back(weight.gpu + weight.cores * gpus_a_core);
  }
  const std::vector<WantedNodes> wanted = choose_nodes(rig, machine.devices, gpu_parts);
  RigPlan plan;
  const auto shown = shown_cameras(rig);
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    const CameraConfig& camera = rig.cameras[c];
    plan.cameras.push_back(place(camera, shown.contains(camera.name), wanted[c], machine));
  }
  place_cells(rig, plan, machine.devices);
  plan.workers = gpu_workers(plan.cameras, machine);
  if (plan.workers.size() > max_workers) throw Error("more workers than there can be");
  const auto on_gpus = static_cast<unsigned>(plan.workers.size());
  const unsigned on_cpu = cpu_worker_count(plan.cameras, rig, max_workers - on_gpus, machine);
  std::ranges::move(cpu_workers(plan.cameras, on_cpu, on_gpus, cores, machine), std::back_inserter(plan.workers));
  for (CameraPlan& camera : plan.cameras) {
    for (NodePlan& node : camera.nodes) {
      if (node.remote.empty()) node.encode_cores = encode_cores(node.worker, plan, rig, machine);
    }
  }
  return plan;
}

}  // namespace

PlanError::PlanError(std::vector<PlanMistake> all, const RigConfig& rig)
    : Error("cameras." + rig.cameras.at(all.at(0).camera).name + ".placement: " + all.at(0).message),
      mistakes(std::move(all)) {}

RigPlan plan(const RigConfig& rig, const Machine& machine) { return plan(rig, machine, {}); }

RigPlan plan(const RigConfig& rig, const Machine& machine, std::span<const CameraWeight> weights) {
  if (machine.devices.gpus.empty()) return plan_on_these(rig, machine, weights);
  return plan_on_these(with_stand_ins(rig, machine.devices), machine, weights);
}

std::vector<Device> inputs_of(const CameraPlan& camera, std::size_t node) {
  std::vector<Device> gpus;
  const bool is_last = node + 1 == camera.nodes.size();
  if (camera.tiles > 0 && is_last) {
    for (std::size_t tile = 0; tile < camera.tiles; ++tile) gpus.push_back(camera.nodes[tile].gpu);
  } else {
    const bool from_source = node == 0 || node < camera.tiles;
    gpus.push_back(from_source ? camera.placement.decode_gpu : camera.nodes[node - 1].gpu);
  }
  return gpus;
}

Placement placement_of_output(const CameraPlan& camera, const NodePlan& node, const StreamConfig& output,
                              const Devices& devices) {
  Placement placement = camera.placement;
  placement.gpu = node.gpu;
  placement.encode_cores = node.encode_cores;
  placement.hardware_encoder = on_gpu(node.gpu) && encodes(*find_gpu(devices, node.gpu), output.encode.codec);
  return placement;
}

bool encodes_own(const CameraConfig& camera) { return !is_copy(camera.encode) && !is_auto(camera.encode); }

unsigned encoded_outputs(const CameraConfig& camera) {
  const auto others = std::ranges::count_if(
      camera.outputs, [](const OutputConfig& output) { return !is_copy(output.encode) && !output.on_demand; });
  return static_cast<unsigned>(others) + (encodes_own(camera) ? 1 : 0);
}

DropPolicy frame_policy(const CameraConfig& camera) {
  return encoded_outputs(camera) == 0 ? DropPolicy::drop : camera.drop_policy;
}

bool encodes_on_demand(const CameraConfig& camera) {
  return std::ranges::any_of(camera.outputs,
                             [](const OutputConfig& output) { return !is_copy(output.encode) && output.on_demand; });
}

bool decodes_together(const CameraConfig& camera) { return camera.group && !is_live(camera.source.url); }

std::string master_name(const std::string& gpu) { return gpu == "cpu" ? "master" : "master " + gpu; }

std::string worker_name(unsigned worker) { return worker == no_worker ? "link" : "worker " + std::to_string(worker); }

bool needs_worker(const CameraConfig& camera) { return encoded_outputs(camera) > 0 || encodes_on_demand(camera); }

}  // namespace campipe
