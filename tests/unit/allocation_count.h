// A count of what a test takes from the heap. A program that has it is made of allocation_count.cpp, too, which
// replaces malloc.
#pragma once

#include <functional>

namespace campipe {

// Not with a sanitizer, which replaces malloc itself.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool counts_allocations = false;
#else
inline constexpr bool counts_allocations = true;
#endif

long allocations_of(const std::function<void()>& work);

}  // namespace campipe
