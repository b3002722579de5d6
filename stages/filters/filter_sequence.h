// Filters configured one after the other, and the rows that each of them computes for a band of the last one's output.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/frame.h"
#include "stages/filters/filter.h"

namespace campipe {

// `filters`, behind a turn by `rotation` (core/orientation.h), as a source may announce one.
std::vector<FilterConfig> with_rotation(std::vector<FilterConfig> filters, int rotation);

// The CPU's filters: what rows they need holds for the GPU, too. Used by one thread.
class FilterSequence {
 public:
  struct Stage {
    std::unique_ptr<Filter> filter;
    bool only_looks;
  };

  // Throws Error for a name or parameters that the registry does not know.
  explicit FilterSequence(const std::vector<FilterConfig>& filters);

  // Returns formats(). Throws Error where a filter refuses its input.
  std::span<const FrameFormat> configure(const FrameFormat& in);
  // [i] is the input of filter i; the last one what comes out of them all.
  [[nodiscard]] std::span<const FrameFormat> formats() const { return formats_; }
  // After configure(): for each of formats() the rows that have to be there so that rows `band` of the last one's luma,
  // and the rows of chroma that belong to them, can be. At least one of each plane. A filter that only looks needs all.
  // `band` begins with an even row, and ends with one or with the last. Throws std::logic_error for another.
  [[nodiscard]] std::vector<FrameRows> rows_for(RowRange band) const;

  [[nodiscard]] std::span<const Stage> stages() const { return stages_; }

 private:
  std::vector<Stage> stages_;
  std::vector<FrameFormat> formats_;
};

}  // namespace campipe
