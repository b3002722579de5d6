// What a kernel reads beside frames, such as weights: written once, into memory of the current GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace campipe {

class DeviceTable {
 public:
  DeviceTable() = default;
  // Copies `content`, waits until it is there. Only at configuration. Throws GpuError.
  explicit DeviceTable(std::span<const std::byte> content);
  template <typename Entry>
  explicit DeviceTable(std::span<const Entry> entries) : DeviceTable(std::as_bytes(entries)) {}

  // In device memory, 256-byte aligned; null when empty.
  template <typename Entry>
  [[nodiscard]] const Entry* as() const {
    return reinterpret_cast<const Entry*>(bytes_.get());
  }

 private:
  struct Free {
    void operator()(std::uint8_t* bytes) const;
  };
  std::unique_ptr<std::uint8_t, Free> bytes_;
};

}  // namespace campipe
