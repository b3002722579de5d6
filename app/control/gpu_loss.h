// How a process reports that its context on a GPU is lost: by its exit status, since it may have no time for more.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/frame.h"

namespace campipe {

inline constexpr int first_gpu_loss = 100;  // and the GPU's place among those that the process sees
inline constexpr int most_gpu_losses = 64;

inline int gpu_loss_status(const Device& lost, const std::vector<Device>& sees) {
  const auto place = static_cast<int>(std::ranges::find(sees, lost) - sees.begin());
  return first_gpu_loss + std::min(place, most_gpu_losses - 1);
}

// Nothing: it is no such exit status, or of none of these.
inline std::optional<Device> gpu_of_loss(int exit_status, const std::vector<Device>& sees) {
  const int place = exit_status - first_gpu_loss;
  if (place < 0 || place >= static_cast<int>(sees.size())) return std::nullopt;
  return sees[static_cast<std::size_t>(place)];
}

}  // namespace campipe
