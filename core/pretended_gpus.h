// GPUs that there are not, for tests of what becomes of a rig when one is gone, on machines without any. In campipe
// itself there are none; the tests' programs (failpoint_on.cpp) have as many as the environment variable
// CAMPIPE_PRETENDED_GPUS says ("2", or "2 integrated"). They encode nothing, and what is placed on one runs on the CPU,
// in a master and a worker of its own: processes, their messages, plans and recovery are those of real GPUs.
#pragma once

#include <algorithm>
#include <string_view>

#include "core/frame.h"

namespace campipe {

// How many.
unsigned pretended_gpus();
bool are_pretended_integrated();

inline constexpr std::string_view pretended_uuid = "a pretended GPU";  // and a number

inline Device pretended_gpu(unsigned index) {
  Device device;
  std::ranges::copy(pretended_uuid, device.gpu_uuid.begin());
  device.gpu_uuid.back() = static_cast<std::uint8_t>(index);
  return device;
}

inline bool is_pretended(const Device& device) {
  return pretended_gpus() > 0 && std::equal(pretended_uuid.begin(), pretended_uuid.end(), device.gpu_uuid.begin());
}

}  // namespace campipe
