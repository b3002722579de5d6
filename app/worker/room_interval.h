// How often a worker looks whether a GPU that was full has room.
#pragma once

#include <chrono>

namespace campipe {

inline constexpr auto room_interval = std::chrono::seconds(1);

}  // namespace campipe
