// What is wrong with a configuration on this machine, and which memory its GPUs share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "app/config/config.h"
#include "app/config/memory_names.h"
#include "app/config/remote_place.h"
#include "app/placement/missing_gpus.h"
#include "app/placement/plan.h"
#include "app/placement/stand_ins.h"
#include "core/error.h"
#include "core/gpu.h"
#include "stages/encoders/encoder.h"

namespace campipe {
namespace {

// On this machine.
bool names_one(const std::string& gpu) { return gpu != "auto" && !gpu.starts_with("cpu") && !remote_place(gpu); }

// Of `placement`, with where they stand.
std::vector<std::pair<std::string, ConfigPlace>> stage_names(const CameraConfig& camera, const GpuPlaces& places) {
  if (!camera.placement) return {};
  std::vector<std::pair<std::string, ConfigPlace>> names{{camera.placement->decode, places.stage_decode},
                                                         {camera.placement->encode, places.stage_encode}};
  for (const std::string& filter : camera.placement->filter) names.emplace_back(filter, places.stage_filter);
  for (const std::string& tile : camera.placement->tiles) names.emplace_back(tile, places.stage_tiles);
  return names;
}

bool stages_name_gpus(const CameraConfig& camera) {
  const auto names = stage_names(camera, {});
  return std::ranges::any_of(names, [](const auto& name) { return names_one(name.first); });
}

// Collects errors, one for each place: a place in `defaults` is checked again for each camera.
class Findings {
 public:
  void add(const ConfigPlace& place, const std::string& message) {
    if (told_.insert({place.document, place.line, place.column}).second) {
      errors_.push_back({place.line, place.column, place.path, message, place.document});
    }
  }
  [[nodiscard]] bool none() const { return errors_.empty(); }
  std::vector<ConfigError> take() {
    std::ranges::sort(errors_, {}, [](const ConfigError& e) { return std::tie(e.document, e.line, e.column); });
    return std::move(errors_);
  }

 private:
  std::set<std::tuple<ConfigDocument, int, int>> told_;
  std::vector<ConfigError> errors_;
};

class GpuChecks {
 public:
  GpuChecks(const LoadedConfig& loaded, const Machine& machine) : loaded_(loaded), machine_(machine) {
    add_missing_gpus(machine_.devices, loaded.rig);
  }

  GpuFindings run() {
    const auto& cameras = loaded_.rig.cameras;
    for (std::size_t c = 0; c < cameras.size(); ++c) check_names(cameras[c], loaded_.gpu_places[c]);
    if (!mistakes_.none()) return take();
    try {
      const RigPlan planned = plan(loaded_.rig, machine_);
      for (std::size_t c = 0; c < cameras.size(); ++c) check(cameras[c], planned.cameras[c], loaded_.gpu_places[c]);
    } catch (const PlanError& error) {
      for (const PlanMistake& mistake : error.mistakes) add(mistake);
    } catch (const Error& error) {
      mistakes_.add({}, error.what());
    }
    return take();
  }

 private:
  GpuFindings take() { return {mistakes_.take(), conditions_.take()}; }

  void check_names(const CameraConfig& camera, const GpuPlaces& places) {
    check_named(camera.gpu, places.gpu);
    check_named(camera.decode_gpu, places.decode_gpu);
    for (const auto& [name, place] : stage_names(camera, places)) {
      check_named(name, place);
      if (!loaded_.rig.cluster && remote_place(name)) mistakes_.add(place, needs_cluster(name));
    }
  }

  void check_named(const std::string& name, const ConfigPlace& place) {
    const Gpu* const gpu = names_one(name) ? find_gpu(machine_.devices, name) : nullptr;
    if (gpu != nullptr && gpu->awaited) conditions_.add(place, gpu->gone + ", got " + place.shown);
  }

  // What was said of a GPU that is not here does not count meanwhile.
  void check(const CameraConfig& camera, const CameraPlan& plan, const GpuPlaces& places) {
    const auto is_missed = [&](const std::string& name) { return !find_gpu(machine_.devices, name)->gone.empty(); };
    if (std::ranges::any_of(named_gpus(camera), is_missed)) return;
    check_memory(camera, plan, places.ipc_memory);
    check_encoder(camera, camera.encode, plan.nodes.back().gpu, places.encoder);
    for (std::size_t o = 0; o < camera.outputs.size(); ++o)
      check_encoder(camera, camera.outputs[o].encode, plan.nodes.front().gpu, places.output_encoders[o]);
  }

  void check_memory(const CameraConfig& camera, const CameraPlan& plan, const ConfigPlace& place) {
    const Placement& placement = plan.placement;
    if (!camera.ipc_memory || !on_gpu(placement.decode_gpu) || !on_gpu(placement.gpu)) return;
    for (std::size_t n = 0; n < std::max<std::size_t>(plan.tiles, 1); ++n) {
      const Device& reader = plan.nodes[n].gpu;
      const std::string problem = sharing_problem(machine_.devices, placement.decode_gpu, reader, *camera.ipc_memory);
      if (problem.empty()) continue;
      conditions_.add(place, fmt::format("{} does not work from GPU {} to GPU {}: {}", choice_name(*camera.ipc_memory),
                                         gpu_name(machine_.devices, placement.decode_gpu),
                                         gpu_name(machine_.devices, reader), problem));
    }
  }

  // On the CPU it is a mistake where the file says so, or where GPUs are here and the plan takes none of them.
  void check_encoder(const CameraConfig& camera, const EncoderConfig& encode, const Device& device,
                     const ConfigPlace& place) {
    const std::string& name = encode.encoder;
    if (!is_gpu_encoder(name)) return;
    const Gpu* gpu = find_gpu(machine_.devices, device);
    if (gpu == nullptr) {
      const bool has_any = std::ranges::any_of(machine_.devices.gpus, can_be_used);
      const std::string& problem = machine_.devices.problem;
      const std::string why = problem.empty() ? "" : " (GPUs: " + problem + ")";
      const bool by_file = has_any || camera.gpu == "cpu";
      return (by_file ? mistakes_ : conditions_).add(place, name + " needs a GPU, and this camera is on the CPU" + why);
    }
    const auto encoder = std::ranges::find(gpu->encoders, name, &HardwareEncoder::name);
    const bool known = encoder != gpu->encoders.end();
    if (known && encoder->problem.empty()) return;
    conditions_.add(place, fmt::format("{} does not work on GPU {}: {}", name, gpu->index,
                                       known ? encoder->problem : "FFmpeg here does not have it"));
  }

  void add(const PlanMistake& mistake) {
    const GpuPlaces& places = loaded_.gpu_places[mistake.camera];
    const auto names = stage_names(loaded_.rig.cameras[mistake.camera], places);
    const auto named = std::ranges::find(names, mistake.named, &std::pair<std::string, ConfigPlace>::first);
    mistakes_.add(named != names.end() ? named->second : places.stage_tiles, mistake.message);
  }

  const LoadedConfig& loaded_;
  Machine machine_;  // with GPUs that it has not
  Findings mistakes_;
  Findings conditions_;
};

bool names_gpu_encoder(const CameraConfig& camera) {
  return is_gpu_encoder(camera.encode.encoder) ||
         std::ranges::any_of(camera.outputs, [](const OutputConfig& o) { return is_gpu_encoder(o.encode.encoder); });
}

}  // namespace

bool may_use_gpus(const RigConfig& rig) {
  return std::ranges::any_of(
      rig.cameras, [](const CameraConfig& camera) { return camera.gpu != "cpu" || stages_name_gpus(camera); });
}

bool names_gpus(const LoadedConfig& loaded) {
  return std::ranges::any_of(loaded.rig.cameras, [](const CameraConfig& camera) {
    return names_one(camera.gpu) || names_one(camera.decode_gpu) || names_gpu_encoder(camera) ||
           stages_name_gpus(camera) || (camera.gpu != "cpu" && camera.ipc_memory);
  });
}

GpuFindings check_gpus(const LoadedConfig& loaded, const Machine& machine) { return GpuChecks(loaded, machine).run(); }

std::string gpu_name(const Devices& devices, const Device& device) {
  const Gpu* gpu = find_gpu(devices, device);
  return gpu != nullptr && gpu->index != no_gpu_index ? std::to_string(gpu->index) : to_string(device);
}

std::string describe_sharing(const Devices& devices, const Device& from, const Device& to) {
  std::vector<std::string> tried;
  for (const auto& choice : choices<MemoryKind>) {
    const std::string problem = sharing_problem(devices, from, to, choice.value);
    const auto rate = read_rate(devices, from, to, choice.value);
    const std::string works = rate ? fmt::format("works, {:.0f} GB/s", *rate) : "works";
    tried.push_back(fmt::format("{} {}", choice.name, problem.empty() ? works : "does not: " + problem));
  }
  return fmt::format("{}", fmt::join(tried, "; "));
}

std::vector<std::string> describe_sharing(const RigPlan& plan, const Devices& devices) {
  std::vector<std::string> lines;
  std::set<std::tuple<std::string, std::string, MemoryKind>> reported;
  const auto describe = [&](const Device& from, const Device& to, MemoryKind memory) {
    if (!on_gpu(from) || !on_gpu(to)) return;
    const std::string writer = gpu_name(devices, from);
    const std::string reader = gpu_name(devices, to);
    if (!reported.insert({writer, reader, memory}).second) return;
    lines.push_back(fmt::format("rings from GPU {} to GPU {} are {} ({})", writer, reader, choice_name(memory),
                                describe_sharing(devices, from, to)));
  };
  for (const CameraPlan& camera : plan.cameras) {
    describe(camera.placement.decode_gpu, camera.placement.gpu, camera.placement.memory);
    for (std::size_t n = 0; n < camera.nodes.size(); ++n) {
      const NodePlan& node = camera.nodes[n];
      if (n < camera.tiles) describe(camera.placement.decode_gpu, node.gpu, camera.placement.memory);
      if (n + 1 == camera.nodes.size()) continue;
      describe(node.gpu, n < camera.tiles ? camera.nodes.back().gpu : camera.nodes[n + 1].gpu, node.output.kind);
    }
    for (const RingMemory& cell : camera.cells) describe(cell.device, camera.nodes.front().gpu, cell.kind);
  }
  return lines;
}

}  // namespace campipe
