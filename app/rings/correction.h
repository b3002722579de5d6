// What was wrong with a timestamp, or with the clock behind it.
#pragma once

#include <cstdint>

namespace campipe {

enum class Counter : std::uint8_t;

enum class Correction : std::uint8_t { missing, repeated, backwards, jumped, stopped };
const char* name_of(Correction kind);
Counter counter_of(Correction kind);

}  // namespace campipe
