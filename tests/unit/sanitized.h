// By how much sanitizers slow a program down, for the bounds of what a test measures in time.
#pragma once

namespace campipe::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int sanitizer_slowdown = 4;
#else
inline constexpr int sanitizer_slowdown = 1;
#endif

}  // namespace campipe::test
