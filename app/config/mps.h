// Whether processes use GPUs through NVIDIA's MPS daemon (docs/operations.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "app/config/choice.h"

namespace campipe {

enum class Mps : std::uint8_t { off, use };

template <>
inline constexpr std::array choices<Mps>{Choice<Mps>{"off", Mps::off}, Choice<Mps>{"use", Mps::use}};

// Why the daemon cannot be reached now; empty: it can, or is not asked for.
std::string mps_problem(Mps mps);

}  // namespace campipe
