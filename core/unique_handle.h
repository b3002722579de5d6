// Ownership of a C handle, written down once: a UniqueHandle owns its handle, moves and never copies,
// and releases it exactly once, in its destructor or in reset(). Every C handle of the project (file
// descriptor, mapping, FFmpeg object) is one alias of it or of std::unique_ptr with a stateless deleter.
#pragma once

#include <unistd.h>

#include <utility>

namespace campipe {

// Traits: `using Handle`, `static Handle none()`, `static void close(Handle)`.
template <typename Traits>
class UniqueHandle {
 public:
  using Handle = typename Traits::Handle;

  UniqueHandle() = default;
  explicit UniqueHandle(Handle handle) : handle_(handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept : handle_(other.release()) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { reset(); }

  [[nodiscard]] Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Traits::none(); }
  [[nodiscard]] Handle release() { return std::exchange(handle_, Traits::none()); }
  void reset(Handle handle = Traits::none()) {
    if (handle_ != Traits::none()) Traits::close(handle_);
    handle_ = handle;
  }

 private:
  Handle handle_ = Traits::none();
};

struct FdTraits {
  using Handle = int;
  static Handle none() { return -1; }
  static void close(Handle fd) { ::close(fd); }
};
using UniqueFd = UniqueHandle<FdTraits>;

}  // namespace campipe
