#include "kernels/device_table.h"

#include "core/cuda.h"

namespace campipe {

DeviceTable::DeviceTable(std::span<const std::byte> content) {
  if (content.empty()) return;
  bytes_.reset(allocate_on_device(content.size()).release());
  cuda_check(cudaMemcpy(bytes_.get(), content.data(), content.size(), cudaMemcpyHostToDevice),
             "cannot copy a filter's table to the GPU");
}

void DeviceTable::Free::operator()(std::uint8_t* bytes) const { DeviceDeleter()(bytes); }

}  // namespace campipe
