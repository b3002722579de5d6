// What code that handles GPUs needs to know without including CUDA's headers. All of CUDA is behind `with_cuda`:
// a build without it has none of the functions declared here and in the other files marked "CUDA only"; callers
// write `if constexpr (with_cuda)`, so that nothing refers to what is not there. Files of that kind are called
// cuda_*.cpp or gpu_*.cpp, and the build leaves them out without CUDA.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/frame.h"

struct CUstream_st;

namespace campipe {

#ifdef CAMPIPE_WITH_CUDA
inline constexpr bool with_cuda = true;
#else
inline constexpr bool with_cuda = false;
#endif

using GpuStream = CUstream_st*;  // CUDA's cudaStream_t and CUstream
using SharedGpuStream = std::shared_ptr<CUstream_st>;

inline bool on_gpu(const Device& device) { return device != Device{}; }
// "GPU-5f0c…" or "MIG-5f0c…", as nvidia-smi prints it and CUDA_VISIBLE_DEVICES takes it; "cpu" for the CPU.
std::string to_string(const Device& device);
// Nothing for anything but "cpu" and a whole UUID: with "MIG-", with "GPU-", or without (then of a GPU).
std::optional<Device> device_from_string(const std::string& text);
// That a GPU which CUDA calls so is an instance: "NVIDIA H100 80GB HBM3 MIG 1g.10gb". CUDA has no other sign of it.
bool is_mig_name(std::string_view name);

// A CUDA call failed.
struct GpuError : Error {
  enum class Kind {
    broken,         // this process's context is lost (an illegal address, a launch that failed, …): it must end
    out_of_memory,  // of the device, or of page-locked memory
    other
  };
  GpuError(const std::string& what, Kind why) : Error(what), kind(why) {}
  Kind kind;
};

// CUDA only. Makes `device` this thread's GPU, with its primary context (waits of which sleep rather than spin).
// Throws GpuError when this process does not see it. Cheap when it is already.
void use_gpu(const Device& device);
// CUDA only. The index that CUDA and FFmpeg know `device` by in this process.
int gpu_index(const Device& device);

}  // namespace campipe
