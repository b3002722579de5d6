// What the links between GPUs allow, without any of campipe's own code: the parts of frames that are worked on
// elsewhere go there and back by the driver's copies, and nothing else is done.
#pragma once

#include <cstdint>
#include <vector>

#include "core/frame.h"

namespace campipe {

struct PeerCopies {
  std::uint64_t bytes = 0;  // of a frame that leave the first GPU, and as many come back
  double us = 0;            // a frame: both ways at once, for all GPUs at once
};
// Frames of so many bytes lie on the first of the GPUs; each has an equal part. Throws Error where all is on one.
PeerCopies measure_peer_copies(const std::vector<Device>& gpus, std::size_t frame_bytes, double seconds);

}  // namespace campipe
