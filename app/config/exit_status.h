// What campipe and its commands return beside 0 and 1.
#pragma once

namespace campipe {

inline constexpr int usage_error = 2;  // it was asked for in a wrong way, or the configuration is wrong

}  // namespace campipe
