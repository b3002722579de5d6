// Where the packets of a camera or of an output of it go.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ipc/ids.h"
#include "stages/filters/filter_config.h"

namespace campipe {

struct CopyTarget {
  OutputId output;
  std::uint64_t epoch = 1;                       // of the first ring
  std::uint64_t base = 0;                        // packets of earlier epochs
  std::optional<std::int64_t> resume = {};       // the dts of the newest packet that a source that died passed on
  std::optional<std::int64_t> shown_until = {};  // when the last frame ends that it passed on: later, with B-frames
  std::vector<FilterConfig> filters = {};        // that look at its frames
};

}  // namespace campipe
