#include "tests/unit/allocation_count.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {

std::atomic<long> allocation_count{0};

}  // namespace

// Every way to the heap is counted, below operator new, so that OpenCV's own allocator is seen as well.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
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

long allocations_of(const std::function<void()>& work) {
  const long before = allocation_count;
  work();
  return allocation_count - before;
}

}  // namespace campipe
