// What is wrong with a configuration on this machine, and which memory its GPUs share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "app/config/config.h"
#include "app/config/memory_names.h"
#include "app/config/remote_place.h"
#include "app/placement/plan.h"
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

// A mistake in `defaults` is every camera's, and reported once.
class Mistakes {
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

void check_named(const std::string& gpu, const ConfigPlace& place, const Devices& devices, Mistakes& mistakes) {
  if (!names_one(gpu) || find_gpu(devices, gpu) != nullptr) return;
  const std::string there = devices.gpus.empty() ? "there is no GPU here (" + devices.problem + ")"
                                                 : "expected one of this machine's GPUs: " + list_gpus(devices);
  mistakes.add(place, there + ", got " + place.shown);
}

void check_memory(const CameraPlan& plan, const ConfigPlace& place, const Devices& devices, Mistakes& mistakes) {
  const Placement& placement = plan.placement;
  if (place.line == 0 || !on_gpu(placement.decode_gpu) || !on_gpu(placement.gpu)) return;
  for (std::size_t n = 0; n < std::max<std::size_t>(plan.tiles, 1); ++n) {
    const Device& reader = plan.nodes[n].gpu;
    const std::string problem = sharing_problem(devices, placement.decode_gpu, reader, placement.memory);
    if (problem.empty()) continue;
    mistakes.add(place, fmt::format("{} does not work from GPU {} to GPU {}: {}", choice_name(placement.memory),
                                    gpu_name(devices, placement.decode_gpu), gpu_name(devices, reader), problem));
  }
}

void check_encoder(const EncoderConfig& encode, const Device& device, const ConfigPlace& place, const Devices& devices,
                   Mistakes& mistakes) {
  const std::string& name = encode.encoder;
  if (!is_gpu_encoder(name)) return;
  const Gpu* gpu = find_gpu(devices, device);
  if (gpu == nullptr) {
    const std::string why = devices.problem.empty() ? "" : " (GPUs: " + devices.problem + ")";
    return mistakes.add(place, name + " needs a GPU, and this camera is on the CPU" + why);
  }
  const auto encoder = std::ranges::find(gpu->encoders, name, &HardwareEncoder::name);
  const bool known = encoder != gpu->encoders.end();
  if (known && encoder->problem.empty()) return;
  mistakes.add(place, fmt::format("{} does not work on GPU {}: {}", name, gpu->index,
                                  known ? encoder->problem : "FFmpeg here does not have it"));
}

void check_encoders(const CameraConfig& camera, const CameraPlan& plan, const GpuPlaces& places, const Devices& devices,
                    Mistakes& mistakes) {
  check_encoder(camera.encode, plan.nodes.back().gpu, places.encoder, devices, mistakes);
  for (std::size_t o = 0; o < camera.outputs.size(); ++o) {
    check_encoder(camera.outputs[o].encode, plan.nodes.front().gpu, places.output_encoders[o], devices, mistakes);
  }
}

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

std::vector<ConfigError> check_gpus(const LoadedConfig& loaded, const Machine& machine) {
  Mistakes mistakes;
  const auto& cameras = loaded.rig.cameras;
  for (std::size_t c = 0; c < cameras.size(); ++c) {
    check_named(cameras[c].gpu, loaded.gpu_places[c].gpu, machine.devices, mistakes);
    check_named(cameras[c].decode_gpu, loaded.gpu_places[c].decode_gpu, machine.devices, mistakes);
    for (const auto& [name, place] : stage_names(cameras[c], loaded.gpu_places[c])) {
      check_named(name, place, machine.devices, mistakes);
      if (!loaded.rig.cluster && remote_place(name)) mistakes.add(place, needs_cluster(name));
    }
  }
  if (!mistakes.none()) return mistakes.take();
  try {
    const RigPlan planned = plan(loaded.rig, machine);
    for (std::size_t c = 0; c < cameras.size(); ++c) {
      check_memory(planned.cameras[c], loaded.gpu_places[c].ipc_memory, machine.devices, mistakes);
      check_encoders(cameras[c], planned.cameras[c], loaded.gpu_places[c], machine.devices, mistakes);
    }
  } catch (const PlanError& error) {
    for (const PlanMistake& mistake : error.mistakes) {
      const auto names = stage_names(cameras[mistake.camera], loaded.gpu_places[mistake.camera]);
      const auto named = std::ranges::find(names, mistake.named, &std::pair<std::string, ConfigPlace>::first);
      mistakes.add(named != names.end() ? named->second : loaded.gpu_places[mistake.camera].stage_tiles,
                   mistake.message);
    }
  } catch (const Error& error) {
    mistakes.add({}, error.what());
  }
  return mistakes.take();
}

std::string gpu_name(const Devices& devices, const Device& device) {
  const Gpu* gpu = find_gpu(devices, device);
  return gpu != nullptr ? std::to_string(gpu->index) : to_string(device);
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
