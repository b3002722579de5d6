#include "stages/filters/tile_parts.h"

#include <array>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "stages/filters/filter_sequence.h"
#include "stages/filters/tile_plan.h"

namespace campipe {
namespace {

// The second is large enough for most that a configuration cuts out of a frame; but maps (undistort) of it take a
// second to make.
constexpr std::array usual{FrameFormat{.pixels = PixelFormat::nv12, .width = 1920, .height = 1080},
                           FrameFormat{.pixels = PixelFormat::nv12, .width = 7680, .height = 4320}};

MutableFrameView moved(const MutableFrameView& view, const FrameFormat& format, const FrameRows& rows, int direction) {
  MutableFrameView moved = view;
  moved.format = format;
  for (int plane = 0; plane < plane_count(format.pixels); ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    moved.data[at] += std::ptrdiff_t{direction} * rows.of(plane).begin * view.stride[at];
  }
  return moved;
}

}  // namespace

TileParts tile_parts(const std::vector<FilterConfig>& filters, const FrameFormat& in, int rotation, int tiles) {
  TilePlan plan = plan_tiles(filters, in, rotation, tiles);
  TileParts parts;
  if (plan.bands.empty()) {
    parts.banded = with_rotation(filters, rotation);
    parts.filtered = filters.size();
    FilterSequence all(parts.banded);
    parts.format = all.configure(in).back();
    parts.rows = {all.rows_for(all_rows).back()};
    parts.untiled = plan.refused.empty() ? plan.untiled : plan.refused;
    return parts;
  }
  parts.banded = std::move(plan.tiled);
  parts.filtered = filters.size() - plan.joined.size();
  parts.format = plan.format;
  for (const TileBand& band : plan.bands) parts.rows.push_back(band.output);
  return parts;
}

FrameFormat part_format(const FrameFormat& whole, const FrameRows& rows) {
  FrameFormat part = whole;
  part.height = rows.luma.count();
  return part;
}

MutableFrameView rows_in(const MutableFrameView& part, const FrameFormat& whole, const FrameRows& rows) {
  MutableFrameView view = moved(part, whole, rows, -1);
  view.rows = rows;
  return view;
}

MutableFrameView part_of(const MutableFrameView& whole, const FrameRows& rows) {
  MutableFrameView view = moved(whole, part_format(whole.format, rows), rows, 1);
  view.rows = {};
  return view;
}

UsualTiles usual_tiles(const std::vector<FilterConfig>& filters) {
  for (const FrameFormat& format : usual) {
    try {
      // So many rows that it is not for them, should it not be tiled.
      TilePlan plan = plan_tiles(filters, format, 0, 2);
      if (!plan.refused.empty()) return {0, std::move(plan.refused)};
      if (plan.bands.empty() && plan.computed == 1) return {0, std::move(plan.untiled)};
      return {filters.size() - plan.joined.size(), {}};
    } catch (const Error& error) {
      spdlog::debug("tiles of {}x{} cannot be planned: {}", format.width, format.height, error.what());
    }
  }
  return {filters.size(), {}};  // whether that source suits the filters is found when it is open
}

}  // namespace campipe
