// Owners of CUDA's objects, its errors, and the driver's functions. CUDA only (core/gpu.h); included by .cpp and .cu
// files, never by headers that others see.
//
// The runtime is linked statically and the driver's functions are asked for by name at run time, so that one binary
// starts on any machine: without a driver the first call fails with a GpuError.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/gpu.h"
#include "core/unique_handle.h"

namespace campipe {

// Throw GpuError("what: CUDA's text").
void cuda_check(cudaError_t code, const std::string& what);
void cuda_check(CUresult code, const std::string& what);

// The driver's functions that campipe calls, a field for each; each was there in the driver that CUDA 12.0 needs at
// least.
struct CudaDriver {
  decltype(&::cuMemCreate) mem_create;
  decltype(&::cuMemRelease) mem_release;
  decltype(&::cuMemMap) mem_map;
  decltype(&::cuMemUnmap) mem_unmap;
  decltype(&::cuMemAddressReserve) mem_address_reserve;
  decltype(&::cuMemAddressFree) mem_address_free;
  decltype(&::cuMemSetAccess) mem_set_access;
  decltype(&::cuMemGetAllocationGranularity) mem_get_allocation_granularity;
  decltype(&::cuMemExportToShareableHandle) mem_export;
  decltype(&::cuMemImportFromShareableHandle) mem_import;
  decltype(&::cuStreamWriteValue64) stream_write_value;
  decltype(&::cuStreamWaitValue64) stream_wait_value;
  decltype(&::cuDeviceGet) device_get;
  decltype(&::cuDeviceGetAttribute) device_get_attribute;
  decltype(&::cuDeviceGetUuid) device_get_uuid;
  decltype(&::cuGetErrorString) get_error_string;
  decltype(&::cuCtxGetCurrent) ctx_get_current;
};
// Throws GpuError where there is no driver, or one that is too old.
const CudaDriver& cuda_driver();

// Who the GPU is that CUDA knows by `index` in this process; of an instance (MIG) its own UUID.
Device gpu_at(int index);

// For destructors: use_gpu(), or a line in the log where that fails. A thread without a GPU would otherwise get the
// context of the first one with its first call.
void use_gpu_to_release(const Device& device) noexcept;

struct CudaStreamTraits {
  using Handle = cudaStream_t;
  static Handle none() { return nullptr; }
  static void close(Handle stream) { cudaStreamDestroy(stream); }  // lets what is enqueued finish
};
using CudaStream = UniqueHandle<CudaStreamTraits>;

struct CudaEventTraits {
  using Handle = cudaEvent_t;
  static Handle none() { return nullptr; }
  static void close(Handle event) { cudaEventDestroy(event); }
};
using CudaEvent = UniqueHandle<CudaEventTraits>;

// Of this thread's GPU. A stream that does not wait for the default stream.
CudaStream make_cuda_stream();

struct DeviceDeleter {
  void operator()(std::uint8_t* p) const { cudaFree(p); }
};
struct PinnedDeleter {
  void operator()(std::uint8_t* p) const { cudaFreeHost(p); }
};
using DeviceBytes = std::unique_ptr<std::uint8_t[], DeviceDeleter>;
using PinnedBytes = std::unique_ptr<std::uint8_t[], PinnedDeleter>;
// At least 512-byte aligned. Only at configuration: both wait for the device, and so does giving them back.
DeviceBytes allocate_on_device(std::size_t bytes);
// Page-locked, usable by all GPUs of the process; near the cores that this thread runs on.
PinnedBytes allocate_pinned(std::size_t bytes);

// For as long as it lives, `bytes` (page-aligned) are page-locked and may be used by GPUs under the same address.
class PinnedRegistration {
 public:
  PinnedRegistration() = default;
  // Throws GpuError.
  PinnedRegistration(std::span<std::uint8_t> bytes, bool read_only);
  PinnedRegistration(PinnedRegistration&& other) noexcept;
  PinnedRegistration& operator=(PinnedRegistration&& other) noexcept;
  ~PinnedRegistration();

 private:
  std::uint8_t* data_ = nullptr;
};

}  // namespace campipe
