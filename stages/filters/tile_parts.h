// How a frame is made by several nodes and joined by another: plan_tiles(), and what is done where that gives no bands.
// Each of those nodes finds the same, as it knows the same filters, the same number of tiles and, by its ring, the same
// source.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/frame.h"
#include "stages/filters/filter.h"

namespace campipe {

struct TileParts {
  std::vector<FilterConfig> banded;  // what makes each part, the source's rotation included
  std::size_t filtered = 0;          // so many of the filters are done then: the join runs the others
  FrameFormat format;                // of the frame that is joined; its pixel format may be another
  std::vector<FrameRows> rows;       // of it, that each part is: at least one, from the top; of further tiles: nothing
  std::string untiled;               // why there is but one part, which is the whole frame with all filters done
};

// As plan_tiles(), but that nothing is refused: where it gives no bands, the first tile makes whole frames.
TileParts tile_parts(const std::vector<FilterConfig>& filters, const FrameFormat& in, int rotation, int tiles);

// A part, as a frame of its own.
FrameFormat part_format(const FrameFormat& whole, const FrameRows& rows);
// `whole`, where these rows are another frame's.
MutableFrameView rows_in(const MutableFrameView& part, const FrameFormat& whole, const FrameRows& rows);
// Of a whole frame these rows, as a frame of its own.
MutableFrameView part_of(const MutableFrameView& whole, const FrameRows& rows);

// What is known before the source is: so many of the filters bands run, of a source of a common format.
struct UsualTiles {
  std::size_t filters = 0;
  std::string refused;  // as TilePlan::refused; or why no filter can be tiled
};
UsualTiles usual_tiles(const std::vector<FilterConfig>& filters);

}  // namespace campipe
