// A camera's filters in their order, with the frames in between. It makes whole frames, or one band of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/frame.h"
#include "stages/filters/filter.h"

namespace campipe {

// Used by one thread. The frames that process() hands out come from a pool of the chain and return to it when
// their `owner` is dropped (any thread); the pool stays alive as long as one of them does.
class FilterChain {
 public:
  // Throws Error for a name or parameters that the registry does not know (the configuration checks them before).
  explicit FilterChain(const std::vector<FilterConfig>& filters);
  ~FilterChain();

  [[nodiscard]] bool empty() const;
  // The format that comes out for `in`. Of what comes out only the rows `band` are made (see
  // FilterSequence::rows_for()), and frames in between have only the rows that it takes. Allocates; throws Error where
  // a filter refuses the input.
  FrameFormat configure(const FrameFormat& in, RowRange band = all_rows);
  // After configure(): the rows of the input that process() reads.
  [[nodiscard]] const FrameRows& needs() const;
  // `in` has the configured format, and at least the rows that are needed; `pts` is its time in nanoseconds. Its
  // metadata comes out with what the filters found. With no filter that changes it, the pixels of `in` itself come
  // back. Its view has the rows of the band. Does not allocate frames once as many are in use as ever were before.
  // `target`: of the configured output's format, where the pixels are to be written, which the result then does not
  // own.
  FrameRef process(const FrameRef& in, std::int64_t pts, const MutableFrameView* target = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace campipe
