// A count of what a test takes from the heap. For one file of a test program: it replaces malloc.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>

inline std::atomic<long> allocation_count{0};

// Every way to the heap is counted, below operator new, so that OpenCV's own allocator is seen as well. The
// sanitizers replace these functions themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool counts_allocations = false;
#else
inline constexpr bool counts_allocations = true;
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) { return ++allocation_count, __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) { return ++allocation_count, __libc_calloc(count, size); }
void* realloc(void* old, std::size_t size) { return ++allocation_count, __libc_realloc(old, size); }
void* memalign(std::size_t alignment, std::size_t size) { return ++allocation_count, __libc_memalign(alignment, size); }
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  *out = memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}
}
#endif

namespace campipe {

inline long allocations_of(const std::function<void()>& work) {
  const long before = allocation_count;
  work();
  return allocation_count - before;
}

}  // namespace campipe
