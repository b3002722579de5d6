// Which of the causes that the report, the status and the metrics name (ipc/rig_page.h) are no loss.
#pragma once

#include <string_view>

namespace campipe {

// The configuration wants these pictures left out: by `rate`, or of what is encoded on demand.
inline bool is_wanted_drop(std::string_view cause) { return cause == "rate" || cause == "unwatched"; }

}  // namespace campipe
