// What tests have to allow for where a sanitizer is built into the programs.
#pragma once

namespace campipe::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

// By how much a program is slower, for the bounds of what is measured in time.
inline constexpr int sanitizer_slowdown = is_sanitized ? 4 : 1;

// Why a test is skipped whose process has to die of a signal.
inline constexpr const char* answers_signals =
    "the sanitizer answers the signal: the process ends with a status, not by it";

}  // namespace campipe::test
