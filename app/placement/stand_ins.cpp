#include "app/placement/stand_ins.h"
#include "app/config/rig_config.h"

#include <algorithm>

namespace campipe {
namespace {

bool is(const std::string& name, const Device& gpu, const Devices& devices) {
  const Gpu* const named = find_gpu(devices, name);
  return named != nullptr && named->device == gpu;
}

bool is_gone(const std::string& name, const Devices& devices) {
  const Gpu* const gpu = find_gpu(devices, name);
  return gpu != nullptr && !gpu->gone.empty();
}

std::string first_place(const Devices& devices) {
  const auto found = std::ranges::find_if(devices.gpus, can_be_used);
  return found != devices.gpus.end() ? std::to_string(found->index) : "cpu";
}

void forget_hardware(EncoderConfig& encode) {
  if (!is_gpu_encoder(encode.encoder)) return;
  encode.encoder = "auto";
  encode.preset = "auto";  // its names are that encoder's
  encode.options.clear();  // likewise
}

// All names of devices that the configuration has.
template <typename Camera, typename Visit>
void visit_names(Camera& camera, const Visit& visit) {
  visit(camera.gpu);
  visit(camera.decode_gpu);
  if (!camera.placement) return;
  visit(camera.placement->decode);
  visit(camera.placement->encode);
  for (auto& filter : camera.placement->filter) visit(filter);
  for (auto& tile : camera.placement->tiles) visit(tile);
}

}  // namespace

bool can_be_used(const Gpu& gpu) { return gpu.problem.empty() && gpu.gone.empty(); }

bool any_gone(const Devices& devices) {
  return std::ranges::any_of(devices.gpus, [](const Gpu& gpu) { return !gpu.gone.empty(); });
}

bool is_gone(const Devices& devices, const Device& device) {
  const Gpu* const gpu = find_gpu(devices, device);
  return gpu != nullptr && !gpu->gone.empty();
}

void prefer_place(CameraConfig& camera, const std::string& place) {
  if (camera.gpu == "auto" && !place.empty()) camera.gpu = place;
}

bool names(const CameraConfig& camera, const Device& gpu, const Devices& devices) {
  bool found = false;
  visit_names(camera, [&](const std::string& name) { found = found || is(name, gpu, devices); });
  return found;
}

CameraConfig with_stand_ins(const CameraConfig& camera, const Devices& devices, const std::string& instead) {
  CameraConfig result = camera;
  if (!any_gone(devices)) return result;
  const bool none_left = std::ranges::none_of(devices.gpus, can_be_used);
  bool changed = false;
  visit_names(camera, [&](const std::string& name) { changed = changed || is_gone(name, devices); });
  if (is_gone(result.gpu, devices)) result.gpu = instead.empty() ? "auto" : instead;
  if (is_gone(result.decode_gpu, devices)) result.decode_gpu = "auto";
  if (result.placement) {
    StagePlacement& stages = *result.placement;
    const std::string place = instead.empty() ? first_place(devices) : instead;
    if (is_gone(stages.decode, devices)) stages.decode = "auto";
    if (is_gone(stages.encode, devices)) stages.encode = place;
    for (std::string& filter : stages.filter) {
      if (is_gone(filter, devices)) filter = place;
    }
    const bool on_gpus =
        std::ranges::any_of(stages.tiles, [&](const std::string& tile) { return is_gone(tile, devices); });
    if (on_gpus && (none_left || place == "cpu")) {
      stages.tiles.clear();
      stages.encode = stages.encode == place ? "auto" : stages.encode;
    }
    for (std::string& tile : stages.tiles) {
      if (is_gone(tile, devices)) tile = place;
    }
  }
  if (changed) result.ipc_memory.reset();
  if (changed || none_left) {
    forget_hardware(result.encode);
    for (OutputConfig& output : result.outputs) forget_hardware(output.encode);
  }
  return result;
}

RigConfig with_stand_ins(RigConfig rig, const Devices& devices) {
  if (!any_gone(devices)) return rig;
  for (CameraConfig& camera : rig.cameras) camera = with_stand_ins(camera, devices);
  return rig;
}

}  // namespace campipe
