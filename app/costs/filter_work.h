// What of a filter its time depends on, and with which parameters it is measured.
#pragma once

#include <string_view>
#include <vector>

#include "app/costs/cost_table.h"
#include "core/frame.h"
#include "stages/filters/filter.h"

namespace campipe {

// Of frames of format `in`, which become `out`, at `rate` frames a second (0: unknown).
Work filter_work(const FilterConfig& filter, const FrameFormat& in, const FrameFormat& out, double rate);
// Of all filters of a chain, in their order, and, as `out`, what comes out of it. Throws Error where a filter refuses
// its input.
std::vector<Work> chain_work(const std::vector<FilterConfig>& filters, const FrameFormat& in, double rate,
                             FrameFormat* out = nullptr);

// The parameters that a filter is measured with, for frames of `in`. Of a filter that nothing is known of here: one, of
// its defaults, or of the middle of what it takes.
std::vector<FilterParameters> probed_parameters(const FilterInfo& filter, const FrameFormat& in);

// Of a source that does not announce it.
inline constexpr double assumed_rate = 25;

}  // namespace campipe
