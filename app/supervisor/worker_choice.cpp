#include "app/supervisor/worker_choice.h"

#include <algorithm>
#include <iterator>

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

}  // namespace

std::vector<Device> gpus_of_worker(const WorkerPlan& worker, const std::vector<Placement>& cameras) {
  std::vector<Device> gpus;
  if (!on_gpu(worker.gpu)) return gpus;
  gpus.push_back(worker.gpu);
  for (const unsigned camera : worker.cameras) add(gpus, cameras[camera].decode_gpu);
  return gpus;
}

std::vector<Device> gpus_of_master(const std::vector<Placement>& cameras) {
  std::vector<Device> gpus;
  for (const Placement& camera : cameras) add(gpus, camera.decode_gpu);
  return gpus;
}

std::vector<WorkerChoice::Candidate> WorkerChoice::candidates() const {
  std::vector<Candidate> found(processes_.count(ProcessKind::worker));
  for (unsigned w = 0; w < found.size(); ++w) {
    const ProcessPlace& place = processes_.worker(w).place;
    found[w] = {place.gpu, place.sees, 0};
  }
  for (const Camera& camera : rig_.cameras.all()) {
    if (camera.takes_part()) ++found[camera.worker.number].cameras;
  }
  return found;
}

// Where the last camera of `rig` is to run.
WorkerChoice::Placed WorkerChoice::place_last(const RigConfig& rig) const {
  const auto position = static_cast<unsigned>(rig.cameras.size() - 1);
  const RigPlan planned = plan(rig, rig_.machine);
  Placed placed{planned.cameras[position], {}, false};
  placed.worker = *std::ranges::find_if(planned.workers, [&](const WorkerPlan& worker) {
    return std::ranges::find(worker.cameras, position) != worker.cameras.end();
  });
  Device& decode_gpu = placed.placement.decode_gpu;
  placed.without_its_decoder = !sees(processes_.master().place.sees, decode_gpu);
  if (placed.without_its_decoder) decode_gpu = {};
  return placed;
}

// The number of the best one; a new one is added at the end.
unsigned WorkerChoice::best_for(const Placement& placement, std::vector<Candidate>& candidates) {
  std::optional<unsigned> best;
  for (unsigned w = 0; w < candidates.size(); ++w) {
    const bool fits = candidates[w].gpu == placement.gpu && sees(candidates[w].sees, placement.decode_gpu);
    if (fits && (!best || candidates[w].cameras < candidates[*best].cameras)) best = w;
  }
  if (!best && candidates.size() == max_workers)
    throw Error("there are as many workers as there can be, and none fits");
  if (!best) {
    std::vector<Device> gpus;
    add(gpus, placement.gpu);
    add(gpus, placement.decode_gpu);
    best = static_cast<unsigned>(candidates.size());
    candidates.push_back({placement.gpu, gpus, 0});
  }
  ++candidates[*best].cameras;
  return *best;
}

// The rig with the cameras that take part now but for those that are to come anew.
RigConfig WorkerChoice::rig_without(std::span<const CameraConfig> coming) const {
  RigConfig rig = rig_.config;
  rig.cameras.clear();
  for (const Camera& camera : rig_.cameras.all()) {
    const bool goes = std::ranges::find(coming, camera.name(), &CameraConfig::name) != coming.end();
    if (camera.takes_part() && !goes) rig.cameras.push_back(camera.config);
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
    best_for(place_last(rig).placement, then);
  }
}

WorkerChoice::Chosen WorkerChoice::choose(const CameraConfig& config) {
  failpoint("supervisor.placing", config.name);
  RigConfig rig = rig_without({});
  rig.cameras.push_back(config);
  const Placed placed = place_last(rig);
  if (placed.without_its_decoder && encoded_outputs(config) > 0)
    spdlog::warn("{}: is decoded on the CPU until the rig is restarted: the master was started without that GPU",
                 config.name);
  std::vector<Candidate> all = candidates();
  const std::size_t workers = all.size();
  const unsigned found = best_for(placed.placement, all);
  if (found == workers) {
    const WorkerPlan& planned = placed.worker;
    processes_.add(ProcessKind::worker, {planned.gpu, gpu_name(rig_.machine.devices, planned.gpu), all[found].sees,
                                         planned.numa_node, planned.cpus});
  }
  return {placed.placement, found};
}

}  // namespace campipe
