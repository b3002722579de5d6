// Memory shared between processes: a sealed memfd, known only by its descriptor, so that nothing is left in any
// file system when its users are gone, however they went.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/unique_handle.h"

namespace campipe {

class Mapping {
 public:
  enum class Access { read, read_write };

  Mapping() = default;
  // Maps the whole of `fd`. Throws Error. The mapping outlives the descriptor.
  Mapping(int fd, Access access);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  [[nodiscard]] std::span<std::uint8_t> bytes() const { return bytes_; }

 private:
  std::span<std::uint8_t> bytes_;
};

// A memfd of `size` zero bytes whose size can never change again. `name` shows in /proc/PID/maps only.
UniqueFd create_shared_memory(const std::string& name, std::size_t size);
// From now on no process can map `fd` writable (existing writable mappings stay).
void seal_future_writes(int fd);
// The size of a memfd from another process; throws Error when it is not a sealed memfd of at least `minimum` bytes.
std::size_t checked_size(int fd, std::size_t minimum);

UniqueFd duplicate(int fd);

}  // namespace campipe
