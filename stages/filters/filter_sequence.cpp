#include "stages/filters/filter_sequence.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/orientation.h"

namespace campipe {
namespace {

// At least one row, so that nothing has to expect a frame without any.
RowRange in_frame(RowRange rows, int height) {
  const int begin = std::clamp(rows.begin, 0, height - 1);
  return {begin, std::clamp(rows.end, begin + 1, height)};
}

RowRange needed(const FilterSequence::Stage& stage, int plane, RowRange rows, const FrameFormat& in) {
  return in_frame(stage.only_looks ? all_rows : stage.filter->needs(plane, rows), plane_size(in, plane).height);
}

FrameRows rows_of(RowRange band, const FrameFormat& format) {
  const int end = std::min(band.end, format.height);
  if (band.begin < 0 || band.begin >= end || band.begin % 2 != 0 || (end % 2 != 0 && end != format.height))
    throw std::logic_error("rows of a band that are none, or do not have chroma rows of their own");
  return {{band.begin, end}, {band.begin / 2, (end + 1) / 2}};
}

}  // namespace

std::vector<FilterConfig> with_rotation(std::vector<FilterConfig> filters, int rotation) {
  if (rotation == 0) return filters;
  FilterConfig rotate{"rotate", {{"angle", turn_of(rotation)}}};
  if (is_mirrored(rotation)) rotate.parameters["mirror"] = 1;
  filters.insert(filters.begin(), std::move(rotate));
  return filters;
}

FilterSequence::FilterSequence(const std::vector<FilterConfig>& filters) {
  for (const FilterConfig& config : filters) {
    const FilterInfo& info = known_filter(config.name);
    stages_.push_back({info.create(complete_parameters(info, config.parameters)), info.only_looks});
  }
}

std::span<const FrameFormat> FilterSequence::configure(const FrameFormat& in) {
  formats_ = {in};
  for (const Stage& stage : stages_) formats_.push_back(stage.filter->configure(formats_.back()));
  return formats_;
}

std::vector<FrameRows> FilterSequence::rows_for(RowRange band) const {
  std::vector<FrameRows> rows(formats_.size(), rows_of(band, formats_.back()));
  for (std::size_t i = stages_.size(); i-- > 0;) {
    rows[i].luma = needed(stages_[i], 0, rows[i + 1].luma, formats_[i]);
    rows[i].chroma = needed(stages_[i], 1, rows[i + 1].chroma, formats_[i]);
  }
  return rows;
}

}  // namespace campipe
