#include "stages/filters/tile_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

#include "stages/filters/filter_sequence.h"

namespace campipe {
namespace {

bool needs_whole_frames(const FilterSequence::Stage& stage) {
  return stage.only_looks || stage.filter->needs(0, {0, 1}) == all_rows;
}

// In front, a filter that needs whole frames has the source's, which nobody computes twice.
bool may_be_tiled(std::span<const FilterSequence::Stage> stages, std::size_t i) {
  return !needs_whole_frames(stages[i]) || (i == 0 && !stages[i].only_looks);
}

// The first filter from which on all run at the join.
std::size_t first_joined(std::span<const FilterSequence::Stage> stages) {
  std::size_t first = stages.size();
  while (first > 0 && !may_be_tiled(stages, first - 1)) --first;
  return first;
}

std::string refusal(const FilterConfig& filter, bool only_looks) {
  const std::string first = only_looks ? "" : "be the first filter or ";
  return "filter '" + filter.name + "' needs whole frames: with tiles it must " + first + "come after all others";
}

double samples_of(const FrameFormat& format, const FrameRows& rows) {
  const auto samples = [&](int plane) {
    return static_cast<double>(rows.of(plane).end - rows.of(plane).begin) * plane_size(format, plane).width;
  };
  double all = samples(0);
  for (int plane = 1; plane < plane_count(format.pixels); ++plane) all += samples(plane);
  return all;
}

// What the filters of a band compute, of which `rows` are the inputs and the output.
double samples_computed(std::span<const FrameFormat> formats, const std::vector<FrameRows>& rows) {
  double all = 0;
  for (std::size_t i = 1; i < formats.size(); ++i) all += samples_of(formats[i], rows[i]);
  return all;
}

// Bands that begin with even rows and differ by no more than two.
std::vector<RowRange> cut(int height, int tiles) {
  const int pairs = (height + 1) / 2;
  const int count = std::min(tiles, pairs);
  std::vector<RowRange> bands;
  for (int i = 0; i < count; ++i)
    bands.push_back({pairs * i / count * 2, std::min(pairs * (i + 1) / count * 2, height)});
  return bands;
}

void add_bands(const FilterSequence& filters, int tiles, TilePlan& plan) {
  const std::span formats = filters.formats();
  double computed = 0;
  for (const RowRange band : cut(formats.back().height, tiles)) {
    std::vector<FrameRows> rows = filters.rows_for(band);
    computed += samples_computed(formats, rows);
    const FrameRows output = rows.back();
    rows.pop_back();
    plan.bands.push_back({output, std::move(rows)});
  }
  plan.computed = computed / samples_computed(formats, filters.rows_for(all_rows));
}

TilePlan not_tiled(const std::vector<FilterConfig>& filters, const FrameFormat& in) {
  TilePlan plan;
  plan.joined = filters;
  plan.format = in;
  return plan;
}

std::string too_much(std::size_t bands, double computed) {
  char times[16];
  std::snprintf(times, sizeof times, "%.2f", computed);
  return std::to_string(bands) + " tiles would compute " + times + " times the frame, more than 1.5 times";
}

}  // namespace

TilePlan plan_tiles(const std::vector<FilterConfig>& filters, const FrameFormat& in, int rotation, int tiles) {
  const std::vector<FilterConfig> all = with_rotation(filters, rotation);
  FilterSequence sequence(all);
  sequence.configure(in);
  const std::span stages = sequence.stages();
  const std::size_t joined = first_joined(stages);
  TilePlan untiled = not_tiled(all, in);
  for (std::size_t i = 0; i < joined; ++i) {
    if (may_be_tiled(stages, i)) continue;
    (rotation == 0 ? untiled.refused : untiled.untiled) = refusal(all[i], stages[i].only_looks);
    return untiled;
  }
  if (joined == 0) {
    untiled.untiled = "no filter can be tiled";
    return untiled;
  }
  TilePlan plan;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(joined);
  plan.tiled.assign(all.begin(), middle);
  plan.joined.assign(middle, all.end());
  FilterSequence tiled(plan.tiled);
  plan.format = tiled.configure(in).back();
  add_bands(tiled, tiles, plan);
  if (plan.computed <= most_computed) return plan;
  untiled.untiled = too_much(plan.bands.size(), plan.computed);
  untiled.computed = plan.computed;
  return untiled;
}

}  // namespace campipe
