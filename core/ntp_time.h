// Times as NTP counts them (RFC 5905, 6), from 1900 on.
#pragma once

#include <cstdint>

namespace campipe {

inline constexpr std::uint64_t ntp_seconds_until_1970 = 2'208'988'800;

}  // namespace campipe
