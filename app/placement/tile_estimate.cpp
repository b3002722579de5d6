#include "app/placement/tile_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "app/costs/codec_work.h"
#include "app/costs/estimates.h"
#include "app/costs/filter_work.h"
#include "core/error.h"
#include "core/gpu.h"
#include "stages/filters/tile_parts.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

// Of one stream, which one decoder of the GPU decodes, for a million pixels.
constexpr double gpu_decode_us = 600;
constexpr double gain = 1.1;  // less is none

FrameFormat large_frame() {
  FrameFormat format;
  format.width = 3840;
  format.height = 2160;
  return format;
}

double decode_us(const Device& device) {
  const Work work = decode_work("h264", large_frame());
  return on_gpu(device) ? gpu_decode_us * work.megapixels : cost_us(estimated_cpu_costs({}), work).value_or(0);
}

}  // namespace

std::string why_tiles_cannot_pay(const CameraConfig& camera, const CameraPlan& plan) {
  if (plan.tiles == 0) return "";
  if (plan.tiles == 1) return "there is but one tile";
  const bool gpu = on_gpu(plan.nodes.front().gpu);
  const DeviceCosts costs = gpu ? estimated_gpu_costs({}) : estimated_cpu_costs({});
  const bool painted = source_kind_of(camera.source.url).painted;
  const double decode = painted ? 0 : decode_us(plan.placement.decode_gpu);
  const auto tiled_filters = static_cast<std::ptrdiff_t>(usual_tiles(camera.filters).filters);
  double one = 0;
  try {
    one =
        chain_us(costs, chain_work({camera.filters.begin(), camera.filters.begin() + tiled_filters}, large_frame(), 0));
  } catch (const Error&) {
    return "";  // they do not take such frames
  }
  const double tiled = one / plan.tiles + cost_us(costs, copy_work(large_frame())).value_or(0);
  if (std::max(decode, one) >= gain * std::max(decode, tiled)) return "";
  return fmt::format(
      "for a frame of 3840x2160 its filters take an estimated {:.2f} ms on one device, {} tiles and the copies between "
      "them {:.2f} ms, and decoding {:.2f} ms",
      one / 1000, plan.tiles, tiled / 1000, decode / 1000);
}

}  // namespace campipe
