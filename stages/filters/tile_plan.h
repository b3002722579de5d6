// How the filters of one stream are shared out: each of several bands of rows (tiles) runs the first filters on the
// rows that it needs, and a join puts the bands together and runs the others on whole frames. A pure function of the
// configuration and the source's format.
#pragma once

#include <string>
#include <vector>

#include "core/frame.h"
#include "stages/filters/filter.h"

namespace campipe {

struct TileBand {
  // Of the frame that the join assembles: what to give FilterChain::configure() and GpuChain::configure() is its luma.
  FrameRows output;
  std::vector<FrameRows> inputs;  // of each of TilePlan::tiled; the first: of the source
};

struct TilePlan {
  std::vector<FilterConfig> tiled;   // for each band: the source's rotation, if any, and the first filters
  std::vector<FilterConfig> joined;  // for the join
  FrameFormat format;                // of the frames that the join assembles
  std::vector<TileBand> bands;       // from the top, without a gap; none: the frame is not tiled, all is `joined`
  double computed = 1;               // the samples that all bands compute, of those that one chain would
  std::string untiled;               // why there are no bands
  std::string refused;               // the same, where the configuration is to blame: an error
};

// More than this is not tiled.
inline constexpr double most_computed = 1.5;

// `rotation`: degrees clockwise that the source announces, before the filters. `tiles`: from 1; fewer where the frame
// has fewer pairs of rows. A filter that needs whole frames runs at the join if only such ones follow it; else it is
// refused, unless it is the first and changes frames, so that each band computes its own rows of all that the source
// has. With a rotation nothing is refused, as a source may announce it at any time: the frame is not tiled then. Throws
// Error as FilterChain does.
TilePlan plan_tiles(const std::vector<FilterConfig>& filters, const FrameFormat& in, int rotation, int tiles);

}  // namespace campipe
