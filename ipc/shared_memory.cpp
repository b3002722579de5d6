#include "ipc/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "core/error.h"

namespace campipe {

Mapping::Mapping(int fd, Access access) {
  const std::size_t size = checked_size(fd, 1);
  const int protection = access == Access::read ? PROT_READ : PROT_READ | PROT_WRITE;
  void* address = ::mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) throw system_error("cannot map shared memory", errno);
  bytes_ = {static_cast<std::uint8_t*>(address), size};
}

Mapping::Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

UniqueFd create_shared_memory(const std::string& name, std::size_t size) {
  UniqueFd fd(::memfd_create(("campipe " + name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) throw system_error("cannot create shared memory", errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) throw system_error("cannot size shared memory", errno);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    throw system_error("cannot seal shared memory", errno);
  }
  return fd;
}

void seal_future_writes(int fd) {
  if (::fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
    throw system_error("cannot seal shared memory", errno);
  }
}

std::size_t checked_size(int fd, std::size_t minimum) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) throw Error("a descriptor is not sealed shared memory");
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw system_error("cannot read the size of shared memory", errno);
  if (static_cast<std::size_t>(status.st_size) < minimum) throw Error("shared memory is smaller than its contents");
  return static_cast<std::size_t>(status.st_size);
}

UniqueFd duplicate(int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) throw system_error("cannot duplicate a descriptor", errno);
  return copy;
}

}  // namespace campipe
