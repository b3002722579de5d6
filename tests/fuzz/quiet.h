// For targets whose parsers tell of bad input in the log.
#pragma once

#include "core/log.h"

namespace campipe::fuzz {

// What is told thousands of times is not looked at.
inline void be_silent() { spdlog::set_level(spdlog::level::off); }

}  // namespace campipe::fuzz
