// The time zone of local times: names of recordings, days, and the text drawn into frames.
#pragma once

#include <string>

namespace campipe {

// What is wrong with the environment's TZ; empty: nothing. The C library takes a zone that it does not know for UTC,
// and says nothing.
std::string time_zone_problem();

}  // namespace campipe
