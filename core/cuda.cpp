#include "core/cuda.h"

#include <cstring>
#include <new>
#include <utility>

#include "core/log.h"

namespace campipe {
namespace {

// cudaErrorTensorMemoryLeak, which headers before CUDA 13 do not name: memory of the kernel's was not given back.
constexpr auto tensor_memory_leak = static_cast<cudaError_t>(721);

GpuError::Kind kind_of(cudaError_t code) {
  if (code == tensor_memory_leak) return GpuError::Kind::broken;
  switch (code) {
    case cudaErrorMemoryAllocation:
      return GpuError::Kind::out_of_memory;
    // After these the context is lost, and every later call fails in the same way.
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    // Not the context itself, but the daemon or the link that it goes through: a new process may find them well again.
    case cudaErrorMpsClientTerminated:
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsServerNotReady:
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
    case cudaErrorDevicesUnavailable:
    case cudaErrorCudartUnloading:
    case cudaErrorContextIsDestroyed:
    case cudaErrorUnknown:
      return GpuError::Kind::broken;
    default:
      return GpuError::Kind::other;
  }
}

template <typename Function>
void load(Function& function, const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  // The version of the function, not of the driver: those of CUDA 12.0 are what the types above are made from.
  const cudaError_t code = cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found);
  cuda_check(code, fmt::format("cannot ask the driver for {}", name));
  if (found != cudaDriverEntryPointSuccess) {
    throw GpuError(std::string("the NVIDIA driver has no ") + name + "; install one for CUDA 12 or later",
                   GpuError::Kind::other);
  }
  function = reinterpret_cast<Function>(address);
}

CudaDriver load_driver() {
  CudaDriver driver{};
  load(driver.get_error_string, "cuGetErrorString");
  load(driver.ctx_get_current, "cuCtxGetCurrent");
  load(driver.device_get, "cuDeviceGet");
  load(driver.device_get_attribute, "cuDeviceGetAttribute");
  load(driver.device_get_uuid, "cuDeviceGetUuid");
  load(driver.mem_create, "cuMemCreate");
  load(driver.mem_release, "cuMemRelease");
  load(driver.mem_map, "cuMemMap");
  load(driver.mem_unmap, "cuMemUnmap");
  load(driver.mem_address_reserve, "cuMemAddressReserve");
  load(driver.mem_address_free, "cuMemAddressFree");
  load(driver.mem_set_access, "cuMemSetAccess");
  load(driver.mem_get_allocation_granularity, "cuMemGetAllocationGranularity");
  load(driver.mem_export, "cuMemExportToShareableHandle");
  load(driver.mem_import, "cuMemImportFromShareableHandle");
  load(driver.stream_write_value, "cuStreamWriteValue64");
  load(driver.stream_wait_value, "cuStreamWaitValue64");
  return driver;
}

}  // namespace

void cuda_check(cudaError_t code, const std::string& what) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // it would be reported again by the next launch
  throw GpuError(what + ": " + cudaGetErrorString(code), kind_of(code));
}

// The driver's codes are the runtime's, for all that it has in common with it.
void cuda_check(CUresult code, const std::string& what) {
  if (code == CUDA_SUCCESS) return;
  const char* text = nullptr;
  if (cuda_driver().get_error_string(code, &text) != CUDA_SUCCESS || text == nullptr) text = "unknown error";
  throw GpuError(what + ": " + text, kind_of(static_cast<cudaError_t>(code)));
}

const CudaDriver& cuda_driver() {
  static const CudaDriver driver = load_driver();
  return driver;
}

Device gpu_at(int index) {
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, index), "cannot read a GPU's properties");
  // The driver's function returns an instance's own UUID; that is not documented of the runtime's properties.
  CUdevice handle = 0;
  CUuuid uuid{};
  cuda_check(cuda_driver().device_get(&handle, index), "cannot find a GPU");
  cuda_check(cuda_driver().device_get_uuid(&uuid, handle), "cannot read a GPU's UUID");
  Device device;
  std::memcpy(device.gpu_uuid.data(), uuid.bytes, device.gpu_uuid.size());
  device.kind = is_mig_name(properties.name) ? Device::Kind::mig : Device::Kind::gpu;
  return device;
}

int gpu_index(const Device& device) {
  int count = 0;
  cuda_check(cudaGetDeviceCount(&count), "cannot count the GPUs");
  for (int index = 0; index < count; ++index) {
    if (gpu_at(index) == device) return index;
  }
  throw GpuError("this process does not see " + to_string(device), GpuError::Kind::other);
}

void use_gpu(const Device& device) {
  thread_local Device current;
  if (current == device) return;
  const int index = gpu_index(device);
  // FFmpeg refuses a primary context with other flags than these.
  cuda_check(cudaInitDevice(index, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid),
             "cannot use " + to_string(device));
  cuda_check(cudaSetDevice(index), "cannot use " + to_string(device));
  current = device;
}

void use_gpu_to_release(const Device& device) noexcept {
  try {
    use_gpu(device);
  } catch (const Error& error) {
    spdlog::error("{}", error.what());
  }
}

CudaStream make_cuda_stream() {
  cudaStream_t stream = nullptr;
  cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cannot make a CUDA stream");
  return CudaStream(stream);
}

DeviceBytes allocate_on_device(std::size_t bytes) {
  void* memory = nullptr;
  cuda_check(cudaMalloc(&memory, bytes), "cannot allocate " + std::to_string(bytes >> 10) + " KiB on the GPU");
  return DeviceBytes(static_cast<std::uint8_t*>(memory));
}

PinnedBytes allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  cuda_check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable),
             "cannot page-lock " + std::to_string(bytes >> 10) + " KiB");
  return PinnedBytes(static_cast<std::uint8_t*>(memory));
}

PinnedRegistration::PinnedRegistration(std::span<std::uint8_t> bytes, bool read_only) {
  const unsigned flags =
      cudaHostRegisterPortable | cudaHostRegisterMapped | (read_only ? cudaHostRegisterReadOnly : 0U);
  cuda_check(cudaHostRegister(bytes.data(), bytes.size(), flags), "cannot page-lock shared memory");
  data_ = bytes.data();
}

PinnedRegistration::PinnedRegistration(PinnedRegistration&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)) {}

PinnedRegistration& PinnedRegistration::operator=(PinnedRegistration&& other) noexcept {
  std::swap(data_, other.data_);
  return *this;
}

PinnedRegistration::~PinnedRegistration() {
  if (data_ != nullptr) cudaHostUnregister(data_);
}

}  // namespace campipe
