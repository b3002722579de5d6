#include "app/placement/stand_ins.h"

#include <algorithm>

#include "app/config/remote_place.h"
#include "app/config/rig_config.h"

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

// It works on a GPU that frames for it may come to: on `place`, or on any where that is no GPU of this machine.
bool may_work(const std::string& encoder, const std::string& place, const Devices& devices) {
  const Gpu* const named = find_gpu(devices, place);
  return std::ranges::any_of(devices.gpus, [&](const Gpu& gpu) {
    if (named != nullptr ? &gpu != named : !can_be_used(gpu)) return false;
    const auto found = std::ranges::find(gpu.encoders, encoder, &HardwareEncoder::name);
    return found != gpu.encoders.end() && found->problem.empty();
  });
}

void forget_unless_it_works(EncoderConfig& encode, const std::string& place, const Devices& devices) {
  if (is_gpu_encoder(encode.encoder) && !may_work(encode.encoder, place, devices)) forget_hardware(encode);
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

std::vector<std::string> named_gpus(const CameraConfig& camera) {
  std::vector<std::string> all;
  visit_names(camera, [&](const std::string& name) {
    if (name != "auto" && !name.starts_with("cpu") && !remote_place(name)) all.push_back(name);
  });
  return all;
}

bool can_be_used(const Gpu& gpu) { return gpu.problem.empty() && gpu.gone.empty(); }

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
  if (devices.gpus.empty()) return result;
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
  } else {
    const bool is_staged = result.placement && result.placement->encode != "auto";
    forget_unless_it_works(result.encode, is_staged ? result.placement->encode : result.gpu, devices);
    for (OutputConfig& output : result.outputs) forget_unless_it_works(output.encode, result.gpu, devices);
  }
  return result;
}

RigConfig with_stand_ins(RigConfig rig, const Devices& devices) {
  for (CameraConfig& camera : rig.cameras) camera = with_stand_ins(camera, devices);
  return rig;
}

}  // namespace campipe
