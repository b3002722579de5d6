#include "app/placement/missing_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "app/config/rig_config.h"
#include "app/placement/plan.h"
#include "app/placement/stand_ins.h"
#include "core/gpu.h"
#include "stages/encoders/encoder.h"

namespace campipe {
namespace {

constexpr std::string_view invented_uuid = "awaited GPU ";  // and its index
constexpr std::size_t index_bytes = 4;
static_assert(invented_uuid.size() + index_bytes == std::tuple_size_v<decltype(Device::gpu_uuid)>);

Device invented(unsigned index) {
  Device device;
  std::ranges::copy(invented_uuid, device.gpu_uuid.begin());
  for (std::size_t i = 0; i < index_bytes; ++i)
    device.gpu_uuid.at(invented_uuid.size() + i) = static_cast<std::uint8_t>(index >> (8 * i));
  return device;
}

Gpu* find(Devices& devices, const Device& device) {
  const auto found = std::ranges::find(devices.gpus, device, &Gpu::device);
  return found != devices.gpus.end() ? &*found : nullptr;
}

Gpu* find_index(Devices& devices, unsigned index) {
  const auto found = std::ranges::find(devices.gpus, index, &Gpu::index);
  return found != devices.gpus.end() ? &*found : nullptr;
}

std::string why_missing(const Devices& found) {
  if (found.gpus.empty()) return "there is no GPU here (" + found.problem + ")";
  return "this machine's GPUs are " + list_gpus(found);
}

void await(Devices& devices, const std::string& name, const std::string& reason) {
  Gpu* known = const_cast<Gpu*>(find_gpu(devices, name));  // NOLINT(cppcoreguidelines-pro-type-const-cast): our own
  if (known == nullptr) {
    known = &devices.gpus.emplace_back();
    const auto index = gpu_index(name);
    known->index = index.value_or(no_gpu_index);
    known->device = index ? invented(*index) : *device_from_string(name);
    known->gone = reason;
    known->awaited = true;
  } else if (known->gone.empty() && !known->problem.empty()) {
    known->gone = "it cannot be used now: " + known->problem;
    known->awaited = true;
  }
}

bool encodes_on_gpu(const CameraConfig& camera) {
  return is_gpu_encoder(camera.encode.encoder) ||
         std::ranges::any_of(camera.outputs, [](const OutputConfig& o) { return is_gpu_encoder(o.encode.encoder); });
}

bool needs_any(const CameraConfig& camera, Mps mps) {
  return camera.gpu == "auto" && (mps == Mps::use || encodes_on_gpu(camera));
}

}  // namespace

void add_missing_gpus(Devices& devices, const RigConfig& rig) {
  const std::string reason = why_missing(without_awaited(devices));
  for (const CameraConfig& camera : rig.cameras) {
    for (const std::string& name : named_gpus(camera)) await(devices, name, reason);
    const bool has_any = std::ranges::any_of(devices.gpus, can_be_used);
    if (!has_any && needs_any(camera, rig.mps)) await(devices, "0", reason);
  }
}

void forget_unnamed_gpus(Devices& devices, std::span<const CameraConfig> cameras, Mps mps) {
  std::vector<Device> unnamed;
  for (const Gpu& gpu : devices.gpus) {
    const bool is_asked_for = std::ranges::any_of(cameras, [&](const CameraConfig& camera) {
      return names(camera, gpu.device, devices) || (gpu.index == 0 && needs_any(camera, mps));
    });
    if (gpu.awaited && !is_asked_for) unnamed.push_back(gpu.device);
  }
  for (const Device& device : unnamed)
    std::erase_if(devices.gpus, [&](const Gpu& gpu) { return gpu.device == device; });
}

bool any_awaited(const Devices& devices) { return std::ranges::any_of(devices.gpus, &Gpu::awaited); }

Devices without_awaited(Devices devices) {
  std::erase_if(devices.gpus, [](const Gpu& gpu) { return gpu.awaited; });
  return devices;
}

bool is_invented(const Device& device) {
  return std::equal(invented_uuid.begin(), invented_uuid.end(), device.gpu_uuid.begin());
}

std::optional<Device> missed_by(const CameraConfig& camera, const Devices& devices, Mps mps) {
  for (const std::string& name : named_gpus(camera)) {
    const Gpu* const gpu = find_gpu(devices, name);
    if (gpu != nullptr && !gpu->gone.empty()) return gpu->device;
  }
  const auto awaited = std::ranges::find_if(devices.gpus, &Gpu::awaited);
  const bool has_any = std::ranges::any_of(devices.gpus, can_be_used);
  if (awaited == devices.gpus.end() || has_any || !needs_any(camera, mps)) return std::nullopt;
  return awaited->device;
}

namespace {

// Cameras may name one GPU by its UUID and by its index. Once it is here, one device stands for both names.
void forget_twins(Devices& devices, std::vector<GpuArrival>& arrivals) {
  for (const GpuArrival& arrival : std::vector(arrivals)) {
    const unsigned index = find(devices, arrival.here)->index;
    const auto twin = std::ranges::find_if(
        devices.gpus, [&](const Gpu& gpu) { return gpu.awaited && is_invented(gpu.device) && gpu.index == index; });
    if (twin == devices.gpus.end()) continue;
    arrivals.push_back({twin->device, arrival.here});
    devices.gpus.erase(twin);
  }
}

}  // namespace

std::vector<GpuArrival> take_arrivals(Devices& devices, const Devices& found) {
  std::vector<GpuArrival> arrivals;
  for (const Gpu& here : found.gpus) {
    if (!can_be_used(here)) continue;
    Gpu* place = find(devices, here.device);
    if (place != nullptr && !place->awaited) continue;
    Gpu* const of_index = find_index(devices, here.index);
    const bool is_taken = of_index != nullptr && of_index != place && !of_index->awaited;
    if (place == nullptr && !is_taken) place = of_index;
    if (place == nullptr && is_taken) {
      const auto other =
          std::ranges::find_if(devices.gpus, [](const Gpu& gpu) { return gpu.awaited && is_invented(gpu.device); });
      if (other != devices.gpus.end()) place = &*other;
    }
    if (place == nullptr) continue;
    const Device awaited = place->device;
    const unsigned index = is_taken ? place->index : here.index;
    *place = here;
    place->index = index;
    arrivals.push_back({awaited, here.device});
  }
  forget_twins(devices, arrivals);
  for (const GpuPair& pair : found.pairs) {
    const bool both = find(devices, pair.from) != nullptr && find(devices, pair.to) != nullptr;
    if (both && find_pair(devices, pair.from, pair.to) == nullptr) devices.pairs.push_back(pair);
  }
  for (Gpu& gpu : devices.gpus) {
    if (!gpu.awaited) continue;
    const Gpu* const seen = find_gpu(found, gpu.device);
    gpu.gone = seen != nullptr ? "it cannot be used now: " + seen->problem : why_missing(found);
  }
  return arrivals;
}

}  // namespace campipe
