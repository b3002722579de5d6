#include "app/placement/tile_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/gpu.h"
#include "stages/filters/tile_parts.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

// For a million pixels, with common parameters: of an H200, and of one core of an AMD EPYC, as gpu_kernels_bench and
// filters_bench (case 0) measure them.
struct FilterCost {
  std::string_view name;
  double gpu_us;
  double cpu_ms;
};
constexpr std::array costs{
    FilterCost{"resize", 1.3, 0.46},  FilterCost{"color", 1.3, 0.3},       FilterCost{"crop", 0.3, 0.03},
    FilterCost{"sharpen", 1.5, 0.41}, FilterCost{"blur", 2.3, 0.74},       FilterCost{"undistort", 2.6, 4.8},
    FilterCost{"rotate", 1.4, 0.41},  FilterCost{"deinterlace", 8.5, 1.2}, FilterCost{"denoise", 82.4, 23.5},
};

// Of a stream, which one decoder of the GPU decodes, or one thread; and of a frame over a link, or into memory.
constexpr double gpu_decode_us = 600;
constexpr double cpu_decode_us = 1900;
constexpr double gpu_copy_us = 3.8;
constexpr double cpu_copy_us = 250;

constexpr double gain = 1.1;                   // less is none
constexpr std::pair assumed_size{3840, 2160};  // of a source that is not open yet

// In µs.
double filter_cost(const std::vector<FilterConfig>& filters, std::size_t number, bool on_gpu) {
  double cost = 0;
  for (std::size_t f = 0; f < number; ++f) {
    const auto found = std::ranges::find(costs, filters[f].name, &FilterCost::name);
    if (found != costs.end()) cost += on_gpu ? found->gpu_us : 1000 * found->cpu_ms;
  }
  return cost;
}

}  // namespace

std::string why_tiles_cannot_pay(const CameraConfig& camera, const CameraPlan& plan) {
  if (plan.tiles == 0) return "";
  if (plan.tiles == 1) return "there is but one tile";
  const bool gpu = on_gpu(plan.nodes.front().gpu);
  const SourceKind& kind = source_kind_of(camera.source.url);
  const bool painted = kind.painted;
  const double decode = painted ? 0 : on_gpu(plan.placement.decode_gpu) ? gpu_decode_us : cpu_decode_us;
  const double one = filter_cost(camera.filters, usual_tiles(camera.filters).filters, gpu);
  const double tiled = one / plan.tiles + (gpu ? gpu_copy_us : cpu_copy_us);
  if (std::max(decode, one) >= gain * std::max(decode, tiled)) return "";
  const auto [width, height] = kind.size != nullptr ? kind.size(camera.source.url) : assumed_size;
  const auto ms = [&, pixels = width * height](double us) { return us * pixels / 1e9; };  // `us`: of a million
  return fmt::format(
      "for a frame of {}x{}{} its filters take an estimated {:.2g} ms on one device, {} tiles and the copies between "
      "them {:.2g} ms, and decoding {:.2g} ms",
      width, height, kind.size != nullptr ? "" : " (assumed, as the source is not open)", ms(one), plan.tiles,
      ms(tiled), ms(decode));
}

}  // namespace campipe
