// Frames that chains and compositors hand out and get back, in whatever memory they need them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/frame.h"

namespace campipe {

using FrameBytes = std::unique_ptr<std::uint8_t[], void (*)(std::uint8_t*)>;

struct FrameLayout {
  FrameFormat format;
  std::size_t alignment = 64;  // of planes and rows, in bytes; a power of two
  MemoryKind memory = MemoryKind::host;
  Device device = {};
  FrameRows rows = {};  // that frames have
};

// Frames of one layout. Each one handed out keeps the pool alive, and comes back from whichever thread drops it.
class FramePool : public std::enable_shared_from_this<FramePool> {
 public:
  struct Lease {
    MutableFrameView view;
    std::shared_ptr<const void> owner;
  };

  // `allocate`: bytes for one frame, aligned as the layout wants it; throws where there are none.
  FramePool(const FrameLayout& layout, FrameBytes (*allocate)(std::size_t bytes))
      : layout_(layout), allocate_(allocate) {}
  // Allocates, so that `count` frames can be in use at once before take() has to.
  void reserve(std::size_t count);
  // One of those that are free, or a new one.
  Lease take();

 private:
  struct Picture {
    FrameBytes pixels;
    MutableFrameView view;
    alignas(std::max_align_t) std::array<std::byte, 96> control_block;  // of the shared_ptr that owns it; see below
  };

  // A shared_ptr allocates a control block each time one is made: this puts it into the frame itself. The frame
  // is free again when the block is, which is the last thing that happens to a shared_ptr (weak ones included).
  template <typename T>
  struct InPicture {
    using value_type = T;
    std::shared_ptr<FramePool> pool;
    Picture* frame;

    InPicture(std::shared_ptr<FramePool> p, Picture* in) : pool(std::move(p)), frame(in) {}
    template <typename U>
    explicit InPicture(const InPicture<U>& other) : pool(other.pool), frame(other.frame) {}
    T* allocate(std::size_t count) {
      static_assert(sizeof(T) <= sizeof(Picture::control_block) && alignof(T) <= alignof(std::max_align_t));
      if (count != 1) throw std::bad_alloc();
      return reinterpret_cast<T*>(frame->control_block.data());
    }
    void deallocate(T* /*block*/, std::size_t /*count*/) { pool->put_back(frame); }
    template <typename U>
    friend bool operator==(const InPicture& a, const InPicture<U>& b) {
      return a.frame == b.frame;
    }
  };

  void add_picture();
  void put_back(Picture* frame);

  const FrameLayout layout_;
  FrameBytes (*const allocate_)(std::size_t);
  std::mutex mutex_;
  std::vector<std::unique_ptr<Picture>> all_;
  std::vector<Picture*> free_;
};

}  // namespace campipe
