#include "app/placement/mosaic_plan.h"

#include "app/config/rig_config.h"
#include "core/gpu.h"
#include "stages/filters/filter.h"

namespace campipe {

std::vector<FilterConfig> cell_filters(const CameraConfig& camera, std::size_t first, const MosaicConfig& mosaic,
                                       std::size_t cell) {
  std::vector<FilterConfig> filters;
  for (std::size_t f = first; f < camera.filters.size(); ++f) {
    if (!known_filter(camera.filters[f].name).only_looks) filters.push_back(camera.filters[f]);
  }
  const FrameRegion& region = mosaic.cells.at(cell).region;
  const Rgb& background = mosaic.background;
  FilterConfig fit;
  fit.name = "fit";
  fit.parameters = {{"width", region.width},
                    {"height", region.height},
                    {"red", background.red},
                    {"green", background.green},
                    {"blue", background.blue}};
  filters.push_back(std::move(fit));
  return filters;
}

// Frames come to it complete, so that nobody waits for another process's GPU. Both nodes of one GPU are in one process,
// which cannot open legacy handles of its own.
RingMemory cell_memory(const CameraConfig& camera, const Device& from, const Device& to, const Devices& devices) {
  if (!on_gpu(from)) return {};
  if (!on_gpu(to)) return {MemoryKind::host, ReadySignal::immediate, from};
  MemoryKind kind = camera.ipc_memory.value_or(best_sharing(devices, from, to));
  if (from == to && kind == MemoryKind::cuda_legacy) {
    const bool vmm = sharing_problem(devices, from, to, MemoryKind::cuda_vmm).empty();
    kind = vmm ? MemoryKind::cuda_vmm : MemoryKind::host;
  }
  return {kind, ReadySignal::immediate, from};
}

std::set<std::string, std::less<>> shown_cameras(const RigConfig& rig) {
  std::set<std::string, std::less<>> names;
  for (const CameraConfig& camera : rig.cameras) {
    if (!camera.mosaic || !camera.enabled) continue;
    for (const MosaicCell& cell : camera.mosaic->cells) names.insert(cell.camera);
  }
  return names;
}

}  // namespace campipe
