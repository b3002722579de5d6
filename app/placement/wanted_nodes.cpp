#include "app/placement/wanted_nodes.h"

#include <algorithm>
#include <utility>

#include "app/config/remote_place.h"
#include "app/config/rig_config.h"
#include "app/placement/plan.h"
#include "app/placement/stand_ins.h"
#include "core/error.h"
#include "core/gpu.h"
#include "ipc/process_ids.h"

namespace campipe {
namespace {

// One place is left for cameras on the CPU.
constexpr std::size_t most_gpus = max_workers - 1;

// How much each GPU has to do, while cameras are given out.
class Shares {
 public:
  explicit Shares(const Devices& devices) : devices_(devices), parts_(devices.gpus.size()) {}

  void add(const Device& device, double part) { parts_[position(device)].add(part); }

  // Of those that can be used, one with the least to do; the CPU where there is none.
  [[nodiscard]] Device least(const std::vector<Device>& but = {}) const {
    const auto in_use = parts_.size() - static_cast<std::size_t>(std::ranges::count(parts_, 0U, &Given::cameras));
    const Gpu* best = nullptr;
    for (const Gpu& gpu : devices_.gpus) {
      const Given& given = parts_[position(gpu.device)];
      const bool is_left = std::ranges::find(but, gpu.device) == but.end();
      const bool possible = can_be_used(gpu) && is_left && (given.cameras > 0 || in_use + but.size() < most_gpus);
      if (possible && (best == nullptr || given.load() < parts_[position(best->device)].load())) best = &gpu;
    }
    return best != nullptr ? best->device : Device{};
  }

 private:
  struct Given {
    unsigned cameras = 0;
    double part = 0;
    void add(double more) {
      ++cameras;
      part += more;
    }
    [[nodiscard]] std::pair<double, unsigned> load() const { return {part, cameras}; }
  };
  [[nodiscard]] std::size_t position(const Device& device) const {
    return static_cast<std::size_t>(find_gpu(devices_, device) - devices_.gpus.data());
  }

  const Devices& devices_;
  std::vector<Given> parts_;
};

WantedNode named_place(const std::string& name, const Devices& devices) {
  if (remote_place(name)) return {.gpu = {}, .remote = name};
  if (const auto worker = cpu_worker_of(name)) return {{}, worker};
  if (name == "cpu") return {};
  return {named_gpu(name, devices)};
}

bool filters_on_gpu(const WantedNode& node) {
  const auto remote = remote_place(node.remote);
  return remote ? remote->place != "cpu" : on_gpu(node.gpu);
}

// By stage. `gpu`: of the camera, where nothing else is said.
WantedNodes stages_of(const CameraConfig& camera, const Device& gpu, const Devices& devices) {
  const StagePlacement& asked = *camera.placement;
  WantedNodes nodes;
  for (unsigned f = 0; f < camera.filters.size() && !asked.filter.empty(); ++f) {
    WantedNode node = named_place(asked.filter.size() == 1 ? asked.filter.front() : asked.filter.at(f), devices);
    node.first_filter = f;
    if (nodes.empty() || !nodes.back().is_beside(node)) nodes.push_back(node);
  }
  WantedNode encoder{gpu};
  if (asked.encode != "auto") {
    encoder = named_place(asked.encode, devices);
  } else if (!nodes.empty() && nodes.back().remote.empty()) {  // else the frames come back
    encoder = nodes.back();
  }
  encoder.first_filter = nodes.empty() ? 0 : static_cast<unsigned>(camera.filters.size());
  if (nodes.empty() || !nodes.back().is_beside(encoder)) nodes.push_back(encoder);
  return nodes;
}

// By tile, with the node that joins them at the end. `gpu`: as above. `mixed` becomes true where some are on GPUs and
// others are not.
WantedNodes tiles_of(const CameraConfig& camera, const Device& gpu, const Devices& devices, const Shares& shares,
                     bool& mixed) {
  WantedNodes nodes;
  std::vector<Device> chosen;
  unsigned on_cpu = 0;
  for (const std::string& tile : camera.placement->tiles) {
    WantedNode node{chosen.empty() ? gpu : shares.least(chosen)};
    if (tile != "auto") {
      node = named_place(tile, devices);
    } else if (on_gpu(gpu)) {
      if (!on_gpu(node.gpu)) continue;  // as many as there are GPUs
      chosen.push_back(node.gpu);
    }
    if (!on_gpu(node.gpu) && !node.cpu_worker && node.remote.empty()) node.further = on_cpu++;
    mixed = mixed || (!nodes.empty() && filters_on_gpu(node) != filters_on_gpu(nodes.front()));
    nodes.push_back(node);
  }
  const std::string& encoder = camera.placement->encode;
  const auto here = std::ranges::find_if(nodes, [](const WantedNode& node) { return node.remote.empty(); });
  WantedNode join{gpu};
  if (encoder != "auto") {
    join = named_place(encoder, devices);
  } else if (here != nodes.end()) {
    join = *here;
  }
  nodes.push_back(join);
  return nodes;
}

bool names_places(const CameraConfig& camera) {
  if (!is_choice(camera.gpu)) return true;
  if (!camera.placement) return false;
  const auto is_named = [](const std::string& place) { return place != "auto"; };
  return !camera.placement->filter.empty() || is_named(camera.placement->encode) ||
         std::ranges::any_of(camera.placement->tiles, is_named);
}

}  // namespace

Device named_gpu(const std::string& name, const Devices& devices) {
  const Gpu* gpu = find_gpu(devices, name);
  if (gpu == nullptr) throw Error("there is no GPU " + name);
  return gpu->device;
}

bool is_choice(const std::string& gpu) { return gpu == "auto" || gpu == "cpu"; }

bool is_tiled(const CameraConfig& camera) { return camera.placement && !camera.placement->tiles.empty(); }

// Cameras that name their GPUs come first, so that the others are spread around them.
std::vector<WantedNodes> choose_nodes(const RigConfig& rig, const Devices& devices, const std::vector<double>& parts) {
  std::vector<WantedNodes> chosen(rig.cameras.size());
  Shares shares(devices);
  std::vector<PlanMistake> mistakes;
  const auto choose = [&](std::size_t c, const Device& gpu) {
    const CameraConfig& camera = rig.cameras[c];
    bool mixed = false;
    chosen[c] = is_tiled(camera)   ? tiles_of(camera, gpu, devices, shares, mixed)
                : camera.placement ? stages_of(camera, gpu, devices)
                                   : WantedNodes{{gpu}};
    if (mixed) mistakes.push_back({c, "", "expected GPUs alone, or places on the CPU alone"});
    for (const WantedNode& node : chosen[c]) {
      if (on_gpu(node.gpu)) shares.add(node.gpu, parts.empty() ? 1 : parts[c]);
    }
  };
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    const std::string& gpu = rig.cameras[c].gpu;
    if (names_places(rig.cameras[c])) choose(c, is_choice(gpu) ? Device{} : named_gpu(gpu, devices));
  }
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    if (names_places(rig.cameras[c])) continue;
    choose(c, rig.cameras[c].gpu == "auto" ? shares.least() : Device{});
  }
  if (!mistakes.empty()) throw PlanError(std::move(mistakes), rig);
  return chosen;
}

}  // namespace campipe
