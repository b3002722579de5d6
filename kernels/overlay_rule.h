// How something that lets a part of a frame through is laid over it, in integers, so that CPU and GPU agree on every
// sample: of luma `keep` 256ths stay, and `add` is added; chroma keeps as much of its colour.
#pragma once

#include <cstdint>

#include "kernels/host_device.h"

namespace campipe {

CAMPIPE_HOST_DEVICE inline std::uint8_t kept(std::uint8_t sample, std::uint8_t keep) {
  return static_cast<std::uint8_t>((sample * keep + 128) >> 8);
}

// `keep` and `add` are such that the sum fits.
CAMPIPE_HOST_DEVICE inline std::uint8_t overlaid_luma(std::uint8_t sample, std::uint8_t keep, std::uint8_t add) {
  return static_cast<std::uint8_t>(kept(sample, keep) + add);
}

// What is grey stays grey.
CAMPIPE_HOST_DEVICE inline std::uint8_t overlaid_chroma(std::uint8_t sample, std::uint8_t keep) {
  return static_cast<std::uint8_t>(kept(sample, keep) + 128 - kept(128, keep));
}

}  // namespace campipe
