#include "ipc/gpu_pixels.h"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "core/cuda.h"
#include "core/log.h"
#include "ipc/shared_memory.h"

namespace campipe {
namespace {

// Whole units, so that an allocation shares its pages with no other: what is exported is always whole pages.
constexpr std::size_t unit = std::size_t{2} << 20;

std::size_t whole_units(std::size_t bytes) { return (bytes + unit - 1) / unit * unit; }

std::string text_of(std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::uint8_t* pointer_to(CUdeviceptr address) { return reinterpret_cast<std::uint8_t*>(address); }

// ---- cuda_vmm and cuda_fabric: an allocation, and a range of addresses in which it is mapped

struct AllocationTraits {
  using Handle = CUmemGenericAllocationHandle;
  static Handle none() { return 0; }
  static void close(Handle allocation) { cuda_driver().mem_release(allocation); }
};
using Allocation = UniqueHandle<AllocationTraits>;

struct AddressRange {
  CUdeviceptr begin = 0;
  std::size_t size = 0;
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};
struct ReservationTraits {
  using Handle = AddressRange;
  static Handle none() { return {}; }
  static void close(Handle range) { cuda_driver().mem_address_free(range.begin, range.size); }
};
using Reservation = UniqueHandle<ReservationTraits>;

struct MappedTraits {
  using Handle = AddressRange;
  static Handle none() { return {}; }
  static void close(Handle range) { cuda_driver().mem_unmap(range.begin, range.size); }
};
using Mapped = UniqueHandle<MappedTraits>;

CUmemAllocationHandleType handle_type(MemoryKind kind) {
  return kind == MemoryKind::cuda_fabric ? CU_MEM_HANDLE_TYPE_FABRIC : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

Allocation allocate(MemoryKind kind, int gpu, std::size_t bytes) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {gpu}};
  properties.requestedHandleTypes = handle_type(kind);
  std::size_t granularity = 0;
  cuda_check(cuda_driver().mem_get_allocation_granularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
             "cannot ask for the size of the GPU's pages");
  if (granularity == 0 || unit % granularity != 0) {
    throw GpuError("this GPU allocates in pages of " + text_of(granularity) + "; use ipc_memory: host",
                   GpuError::Kind::other);
  }
  CUmemGenericAllocationHandle allocation = 0;
  const CUresult code = cuda_driver().mem_create(&allocation, bytes, &properties, 0);
  if (code == CUDA_ERROR_NOT_PERMITTED && kind == MemoryKind::cuda_fabric) {
    throw GpuError("the driver permits no fabric memory here (it needs an IMEX channel); use another ipc_memory",
                   GpuError::Kind::other);
  }
  cuda_check(code, "cannot allocate " + text_of(bytes) + " of GPU memory to share");
  return Allocation(allocation);
}

Reservation reserve(std::size_t bytes) {
  CUdeviceptr begin = 0;
  cuda_check(cuda_driver().mem_address_reserve(&begin, bytes, 0, 0, 0),
             "cannot reserve " + text_of(bytes) + " of addresses");
  return Reservation({begin, bytes});
}

Mapped map(const Reservation& range, const Allocation& allocation, int gpu, CUmemAccess_flags access) {
  const auto [begin, size] = range.get();
  cuda_check(cuda_driver().mem_map(begin, size, 0, allocation.get(), 0), "cannot map shared GPU memory");
  Mapped mapped(range.get());
  const CUmemAccessDesc rights{{CU_MEM_LOCATION_TYPE_DEVICE, {gpu}}, access};
  cuda_check(cuda_driver().mem_set_access(begin, size, &rights, 1), "cannot reach shared GPU memory from this GPU");
  return mapped;
}

class VmmPixels : public GpuPixels {
 public:
  VmmPixels(const Device& user, Allocation allocation, std::size_t bytes, CUmemAccess_flags access)
      : user_(user),
        allocation_(std::move(allocation)),
        reservation_(reserve(bytes)),
        mapped_(map(reservation_, allocation_, gpu_index(user), access)) {}
  VmmPixels(const VmmPixels&) = delete;
  VmmPixels& operator=(const VmmPixels&) = delete;
  ~VmmPixels() override { use_gpu_to_release(user_); }

  // So that other processes can import it.
  void share(MemoryKind kind) {
    const auto export_to = [&](void* handle) {
      cuda_check(cuda_driver().mem_export(handle, allocation_.get(), handle_type(kind), 0),
                 "cannot share GPU memory with other processes");
    };
    if (kind == MemoryKind::cuda_fabric) {
      static_assert(sizeof(CUmemFabricHandle) == sizeof(GpuHandle));
      export_to(handle_.data());
    } else {
      int fd = -1;
      export_to(&fd);
      const UniqueFd inheritable(fd);
      fd_ = duplicate(fd);  // closed by exec
    }
  }

  [[nodiscard]] std::span<std::uint8_t> bytes() const override {
    return {pointer_to(mapped_.get().begin), mapped_.get().size};
  }
  [[nodiscard]] const GpuHandle& handle() const override { return handle_; }
  [[nodiscard]] int fd() const override { return fd_.get(); }

 private:
  Device user_;
  GpuHandle handle_{};
  UniqueFd fd_;
  // Taken down from the last to the first.
  Allocation allocation_;
  Reservation reservation_;
  Mapped mapped_;
};

std::shared_ptr<GpuPixels> create_vmm(MemoryKind kind, const Device& device, std::size_t bytes) {
  auto pixels = std::make_shared<VmmPixels>(device, allocate(kind, gpu_index(device), bytes), bytes,
                                            CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  pixels->share(kind);
  return pixels;
}

std::shared_ptr<GpuPixels> import_vmm(MemoryKind kind, const Device& user, const GpuHandle& handle, int fd,
                                      std::size_t bytes) {
  GpuHandle fabric = handle;
  // The driver takes a descriptor in the place of the pointer.
  void* source = kind == MemoryKind::cuda_fabric ? static_cast<void*>(fabric.data())
                                                 : reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
  CUmemGenericAllocationHandle imported = 0;
  cuda_check(cuda_driver().mem_import(&imported, source, handle_type(kind)),
             "cannot import another process's GPU memory");
  return std::make_shared<VmmPixels>(user, Allocation(imported), bytes, CU_MEM_ACCESS_FLAGS_PROT_READ);
}

// ---- cuda_legacy

struct OpenedTraits {
  using Handle = std::uint8_t*;
  static Handle none() { return nullptr; }
  static void close(Handle memory) { cudaIpcCloseMemHandle(memory); }
};
using Opened = UniqueHandle<OpenedTraits>;

class LegacyPixels : public GpuPixels {
 public:
  LegacyPixels(const Device& device, std::size_t bytes) : user_(device), size_(bytes), own_(allocate_on_device(bytes)) {
    cudaIpcMemHandle_t handle{};
    static_assert(sizeof handle == sizeof(GpuHandle));
    cuda_check(cudaIpcGetMemHandle(&handle, own_.get()), "cannot share GPU memory with other processes");
    std::memcpy(handle_.data(), &handle, sizeof handle);
  }
  LegacyPixels(const Device& user, const GpuHandle& handle, std::size_t bytes)
      : user_(user), size_(bytes), handle_(handle) {
    cudaIpcMemHandle_t of_writer{};
    std::memcpy(&of_writer, handle.data(), sizeof of_writer);
    void* memory = nullptr;
    cuda_check(cudaIpcOpenMemHandle(&memory, of_writer, cudaIpcMemLazyEnablePeerAccess),
               "cannot import another process's GPU memory");
    opened_ = Opened(static_cast<std::uint8_t*>(memory));
  }
  LegacyPixels(const LegacyPixels&) = delete;
  LegacyPixels& operator=(const LegacyPixels&) = delete;
  ~LegacyPixels() override { use_gpu_to_release(user_); }

  [[nodiscard]] std::span<std::uint8_t> bytes() const override { return {own_ ? own_.get() : opened_.get(), size_}; }
  [[nodiscard]] const GpuHandle& handle() const override { return handle_; }
  [[nodiscard]] int fd() const override { return -1; }

 private:
  Device user_;
  std::size_t size_;
  GpuHandle handle_{};
  DeviceBytes own_;  // the writer's
  Opened opened_;    // a reader's
};

// What this process has made: CUDA opens no handle in the process that it came from, where a node may read what another
// one writes.
class OwnLegacyPixels {
 public:
  std::shared_ptr<GpuPixels> add(std::shared_ptr<GpuPixels> pixels) {
    const std::lock_guard lock(mutex_);
    std::erase_if(pixels_, [](const auto& entry) { return entry.second.expired(); });
    pixels_[pixels->handle()] = pixels;
    return pixels;
  }
  // Null: another process's.
  std::shared_ptr<GpuPixels> find(const GpuHandle& handle) {
    const std::lock_guard lock(mutex_);
    const auto found = pixels_.find(handle);
    return found != pixels_.end() ? found->second.lock() : nullptr;
  }

 private:
  std::mutex mutex_;
  std::map<GpuHandle, std::weak_ptr<GpuPixels>> pixels_;
};

OwnLegacyPixels& own_legacy_pixels() {
  static OwnLegacyPixels pixels;
  return pixels;
}

}  // namespace

std::shared_ptr<GpuPixels> GpuPixels::create(MemoryKind kind, const Device& device, std::size_t bytes) {
  use_gpu(device);
  const std::size_t size = whole_units(bytes);
  if (kind == MemoryKind::cuda_legacy) return own_legacy_pixels().add(std::make_shared<LegacyPixels>(device, size));
  return create_vmm(kind, device, size);
}

std::shared_ptr<GpuPixels> GpuPixels::import(MemoryKind kind, const Device& user, const GpuHandle& handle, int fd,
                                             std::size_t bytes) {
  use_gpu(user);
  const std::size_t size = whole_units(bytes);
  if (kind == MemoryKind::cuda_legacy) {
    if (auto own = own_legacy_pixels().find(handle)) return own;
    return std::make_shared<LegacyPixels>(user, handle, size);
  }
  return import_vmm(kind, user, handle, fd, size);
}

namespace {

struct PageLock {
  Device gpu;
  PinnedRegistration registration;

  PageLock(std::span<std::uint8_t> bytes, const Device& by, bool read_only) : gpu(by), registration(bytes, read_only) {}
  PageLock(const PageLock&) = delete;
  PageLock& operator=(const PageLock&) = delete;
  ~PageLock() { use_gpu_to_release(gpu); }
};

}  // namespace

std::shared_ptr<const void> page_lock(std::span<std::uint8_t> bytes, const Device& gpu) {
  use_gpu(gpu);
  return std::make_shared<PageLock>(bytes, gpu, false);
}

std::shared_ptr<const void> page_lock_read_only(std::span<std::uint8_t> bytes, const Device& gpu) {
  use_gpu(gpu);
  try {
    return std::make_shared<PageLock>(bytes, gpu, true);
  } catch (const GpuError& error) {
    if (error.kind == GpuError::Kind::broken) throw;
    spdlog::debug("{}: read-only: {}; the GPU's copies from it are slower", to_string(gpu), error.what());
    return nullptr;
  }
}

}  // namespace campipe
