#include "core/clock.h"

namespace campipe {

Clock::time_point Clock::now() noexcept { return std::chrono::steady_clock::now(); }

std::chrono::system_clock::time_point utc_now() noexcept { return std::chrono::system_clock::now(); }

}  // namespace campipe
