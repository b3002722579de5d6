// What a GPU's decoder or memory refuses, as a reason to go on without it.
#pragma once

#include <optional>
#include <string>

#include "core/gpu.h"
#include "stages/decoders/decoder.h"

namespace campipe {

inline bool ends_process(const std::exception& error) {
  const auto* of_gpu = dynamic_cast<const GpuError*>(&error);
  return of_gpu != nullptr && of_gpu->kind == GpuError::Kind::broken;
}

// Why the camera must go on without the GPU; nothing: `work` was done with it.
template <typename Work>
std::optional<std::string> refusal_of(const Work& work) {
  try {
    work();
    return std::nullopt;
  } catch (const HardwareRefused& error) {
    return error.what();
  } catch (const GpuError& error) {
    if (ends_process(error)) throw;
    return error.what();
  }
}

}  // namespace campipe
