// Units of times that are counted in nanoseconds, as frames' are.
#pragma once

#include <cstdint>

namespace campipe {

inline constexpr std::int64_t ns_per_ms = 1'000'000;
inline constexpr std::int64_t ns_per_s = 1000 * ns_per_ms;

}  // namespace campipe
