// Between the node that writes a mosaic's cell and the one that draws it.
#pragma once

namespace campipe {

inline constexpr unsigned cell_queue_size = 2;  // frames that may wait: older ones than the newest are of no use

}  // namespace campipe
