#include "app/supervisor/life/worker_choice.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "app/config/remote_place.h"
#include "app/config/rig_config.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/gpu.h"
#include "core/log.h"

namespace campipe {
namespace {

bool sees(const std::vector<Device>& gpus, const Device& gpu) {
  return !on_gpu(gpu) || std::ranges::find(gpus, gpu) != gpus.end();
}

void add(std::vector<Device>& gpus, const Device& gpu) {
  if (!sees(gpus, gpu)) gpus.push_back(gpu);
}

void add_all(std::vector<Device>& gpus, const std::vector<Device>& others) {
  for (const Device& gpu : others) add(gpus, gpu);
}

// That a node's worker has to see: its own, and those that fill the rings that it reads.
std::vector<Device> gpus_of_node(const CameraPlan& camera, std::size_t node) {
  std::vector<Device> gpus;
  const Device& own = camera.nodes[node].gpu;
  if (!on_gpu(own)) return gpus;  // who writes for the CPU downloads for it
  gpus.push_back(own);
  for (const Device& gpu : inputs_of(camera, node)) add(gpus, gpu);
  return gpus;
}

}  // namespace

std::vector<Device> gpus_of_worker(const RigPlan& plan, unsigned worker) {
  std::vector<Device> gpus;
  for (const unsigned c : plan.workers[worker].cameras) {
    const CameraPlan& camera = plan.cameras[c];
    for (std::size_t n = 0; n < camera.nodes.size(); ++n) {
      if (camera.nodes[n].worker != worker) continue;
      add_all(gpus, gpus_of_node(camera, n));
    }
    for (const RingMemory& cell : camera.cells) {
      if (cell.kind != MemoryKind::host) add(gpus, cell.device);
    }
  }
  if (!on_gpu(plan.workers[worker].gpu)) return gpus;
  for (const CameraPlan& camera : plan.cameras) add(gpus, camera.placement.decode_gpu);
  return gpus;
}

ProcessPlace place_of_master(const CameraPlan& camera, const Devices& devices) {
  const Device& device = camera.placement.decode_gpu;
  ProcessPlace place;
  if (!on_gpu(device)) return place;
  place.gpu = device;
  place.gpu_name = gpu_name(devices, device);
  place.sees = {device};
  place.numa_node = find_gpu(devices, device)->numa_node;
  place.cpus = camera.placement.decode_cpus;
  return place;
}

std::vector<Device> WorkerChoice::gpus_that_decode() const {
  std::vector<Device> gpus;
  for (const Camera& camera : rig_.cameras.all()) {
    if (camera.takes_part()) add(gpus, camera.source.placement.decode_gpu);
  }
  return gpus;
}

std::vector<WorkerChoice::Candidate> WorkerChoice::candidates() const {
  std::vector<Candidate> found(processes_.count(ProcessKind::worker));
  for (unsigned w = 0; w < found.size(); ++w) {
    const ProcessPlace& place = processes_.worker(w).place;
    found[w] = {place.gpu, place.sees, place.for_others, 0, 0};
  }
  for (const Camera& camera : rig_.cameras.all()) {
    if (!camera.takes_part() || camera.relocation) continue;
    const double cores = cores_for_each(*camera.config, camera.nodes.size());
    for (const CameraNode& node : camera.nodes) {
      if (!node.remote.empty()) continue;
      ++found[node.worker].cameras;
      found[node.worker].cores += cores;
    }
  }
  return found;
}

// By number they cost nothing, so that the number decides.
double WorkerChoice::cores_for_each(const CameraConfig& camera, std::size_t nodes) const {
  if (rig_.config->balance == Balance::off) return 0;
  return rig_.weights.of(camera, rig_.machine, rig_.costs, rig_.streams).cores / static_cast<double>(nodes);
}

// Where the last camera of `rig` is to run.
WorkerChoice::Placed WorkerChoice::place_last(const RigConfig& rig) const {
  require_cluster(rig);
  RigPlan planned = balanced_plan(rig, rig_.machine, rig_.costs, rig_.streams, rig_.weights);
  return {std::move(planned.cameras.back()), std::move(planned.workers)};
}

// The number of the best one for each of the camera's workers in the plan; new ones are added at the end.
std::map<unsigned, unsigned> WorkerChoice::best_for(const CameraPlan& camera, double cores,
                                                    std::vector<Candidate>& candidates) {
  std::map<unsigned, unsigned> chosen;
  for (std::size_t n = 0; n < camera.nodes.size(); ++n) {
    const NodePlan& node = camera.nodes[n];
    if (!node.remote.empty() || chosen.contains(node.worker)) continue;
    std::vector<Device> needs;
    for (std::size_t other = 0; other < camera.nodes.size(); ++other) {
      if (camera.nodes[other].worker != node.worker) continue;
      add_all(needs, gpus_of_node(camera, other));
    }
    chosen[node.worker] = best_for(node, cores, needs, candidates, chosen);
  }
  return chosen;
}

// `taken`: by other nodes of the camera.
unsigned WorkerChoice::best_for(const NodePlan& node, double cores, const std::vector<Device>& needs,
                                std::vector<Candidate>& candidates, const std::map<unsigned, unsigned>& taken) {
  const auto load = [&](unsigned w) { return std::pair(candidates[w].cores, candidates[w].cameras); };
  std::optional<unsigned> best;
  unsigned of_the_cpu = 0;
  for (unsigned w = 0; w < candidates.size(); ++w) {
    const Candidate& candidate = candidates[w];
    if (candidate.for_others) continue;
    const unsigned number = on_gpu(candidate.gpu) ? 0 : of_the_cpu++;
    bool fits = candidate.gpu == node.gpu;
    for (const Device& gpu : needs) fits = fits && sees(candidate.sees, gpu);
    if (node.cpu_worker) fits = fits && number == *node.cpu_worker;
    const bool is_taken = std::ranges::any_of(taken, [w](const auto& other) { return other.second == w; });
    if (fits && !is_taken && (!best || load(w) < load(*best))) best = w;
  }
  while (!best) {
    if (candidates.size() == max_workers) throw Error("there are as many workers as there can be, and none fits");
    candidates.push_back({node.gpu, needs});
    if (!node.cpu_worker || of_the_cpu++ == *node.cpu_worker) best = static_cast<unsigned>(candidates.size() - 1);
  }
  ++candidates[*best].cameras;
  candidates[*best].cores += cores;
  return *best;
}

// The rig with the cameras that take part now but for those that are to come anew.
RigConfig WorkerChoice::rig_without(std::span<const CameraConfig> coming) const {
  RigConfig rig = *rig_.config;
  rig.cameras.clear();
  for (const Camera& camera : rig_.cameras.all()) {
    const bool goes = std::ranges::find(coming, camera.name(), &CameraConfig::name) != coming.end();
    if (camera.takes_part() && !goes) rig.cameras.push_back(*camera.config);
  }
  return rig;
}

void WorkerChoice::require(std::span<const CameraConfig> coming) const {
  std::vector<CameraConfig> changed;
  std::ranges::copy_if(coming, std::back_inserter(changed), [this](const CameraConfig& config) {
    const Camera* camera = rig_.cameras.find(config.name);
    return camera == nullptr || !camera->runs_as(config);
  });
  RigConfig rig = rig_without(changed);
  std::vector<Candidate> then = candidates();
  for (const CameraConfig& config : changed) {
    rig.cameras.push_back(resolved(config, {}));
    const CameraPlan camera = place_last(rig).camera;
    best_for(camera, cores_for_each(rig.cameras.back(), camera.nodes.size()), then);
  }
}

CameraPlan WorkerChoice::choose(const CameraConfig& config, bool displaced) {
  failpoint("supervisor.placing", config.name);
  RigConfig rig = rig_without(std::span(&config, 1));
  rig.cameras.push_back(config);
  Placed placed = place_last(rig);
  std::vector<Candidate> all = candidates();
  const std::size_t workers = all.size();
  const auto chosen = best_for(placed.camera, cores_for_each(config, placed.camera.nodes.size()), all);
  for (std::size_t w = workers; w < all.size(); ++w) {
    const auto is_its = [&](const auto& pair) { return pair.second == w; };
    const auto of = std::ranges::find_if(chosen, is_its);
    WorkerPlan planned = of != chosen.end() ? placed.workers[of->first] : WorkerPlan();
    if (displaced && !on_gpu(all[w].gpu)) planned.cpus.clear();  // all of a GPU's cameras may come there
    if (on_gpu(all[w].gpu)) add_all(all[w].sees, gpus_that_decode());
    processes_.add(ProcessKind::worker, {all[w].gpu, gpu_name(rig_.machine.devices, all[w].gpu), all[w].sees,
                                         planned.numa_node, planned.cpus});
  }
  for (NodePlan& node : placed.camera.nodes) {
    if (node.remote.empty()) node.worker = chosen.at(node.worker);
  }
  return placed.camera;
}

}  // namespace campipe
