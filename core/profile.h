// Ranges on the time line of a profiler (Nsight Systems; docs/performance.md, "Taking a trace"): which camera's frame a
// thread works on, and in which stage. Without a profiler one costs some nanoseconds, without CUDA nothing.
#pragma once

#include <cstdint>
#include <string>

#include "core/gpu.h"

namespace campipe {

// CUDA only.
namespace profiler {
void* remember(const std::string& name);
void push(void* name, std::uint64_t frame);
void pop();
}  // namespace profiler

// "camera/stage", made once, so that no text is put together for a frame.
class ProfileName {
 public:
  ProfileName([[maybe_unused]] const std::string& camera, [[maybe_unused]] const std::string& stage) {
    if constexpr (with_cuda) name_ = profiler::remember(camera + "/" + stage);
  }

 private:
  friend class ProfileRange;
  void* name_ = nullptr;
};

// From its construction to its destruction, which are on one thread, which works on `frame`. Ranges may be nested.
class ProfileRange {
 public:
  ProfileRange([[maybe_unused]] const ProfileName& name, [[maybe_unused]] std::uint64_t frame) {
    if constexpr (with_cuda) profiler::push(name.name_, frame);
  }
  ~ProfileRange() {
    if constexpr (with_cuda) profiler::pop();
  }
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;
};

}  // namespace campipe
