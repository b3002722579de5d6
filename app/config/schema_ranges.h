// Ranges of values with units, as a JSON Schema has them: as patterns. They take no exponents, which the file may
// have.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "app/config/units.h"

namespace campipe {

// `min` and `max`: in the unit whose factor is 1. Where that has no name, numbers are taken as well. `expected`: what
// editors show in place of the pattern.
nlohmann::json range_schema(std::span<const Unit> units, double min, double max, const std::string& expected);
nlohmann::json duration_schema(std::chrono::nanoseconds min, std::chrono::nanoseconds max);

}  // namespace campipe
