#include "app/placement/tile_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "app/config/camera_config.h"
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
constexpr double gain = 1.1;                   // less is none
constexpr std::pair assumed_size{3840, 2160};  // of a source that is not open yet

double decode_us(const Device& device, const FrameFormat& frame) {
  const Work work = decode_work("h264", frame);
  return on_gpu(device) ? gpu_decode_us * work.megapixels : cost_us(estimated_cpu_costs({}), work).value_or(0);
}

}  // namespace

std::string why_tiles_cannot_pay(const CameraConfig& camera, const CameraPlan& plan) {
  if (plan.tiles == 0) return "";
  if (plan.tiles == 1) return "there is but one tile";
  const bool gpu = on_gpu(plan.nodes.front().gpu);
  const DeviceCosts costs = gpu ? estimated_gpu_costs({}) : estimated_cpu_costs({});
  const SourceKind& kind = source_kind_of(camera.source.url);
  const auto [width, height] = kind.size != nullptr ? kind.size(camera.source.url) : assumed_size;
  FrameFormat frame;
  frame.width = width;
  frame.height = height;
  const double decode = kind.painted ? 0 : decode_us(plan.placement.decode_gpu, frame);
  const auto tiled_filters = static_cast<std::ptrdiff_t>(usual_tiles(camera.filters).filters);
  double one = 0;
  try {
    one = chain_us(costs, chain_work({camera.filters.begin(), camera.filters.begin() + tiled_filters}, frame, 0));
  } catch (const Error&) {
    return "";  // they do not take such frames
  }
  const double tiled = one / plan.tiles + cost_us(costs, copy_work(frame)).value_or(0);
  if (std::max(decode, one) >= gain * std::max(decode, tiled)) return "";
  return fmt::format(
      "for a frame of {}x{}{} its filters take an estimated {:.2g} ms on one device, {} tiles and the copies between "
      "them {:.2g} ms, and decoding {:.2g} ms",
      width, height, kind.size != nullptr ? "" : " (assumed, as the source is not open)", one / 1000, plan.tiles,
      tiled / 1000, decode / 1000);
}

}  // namespace campipe
