// By what the packets of a live source lie where they do in time.
#pragma once

#include <array>
#include <cstdint>

#include "app/config/choice.h"

namespace campipe {

enum class Timestamps : std::uint8_t { camera, arrival };
template <>
inline constexpr std::array choices<Timestamps>{Choice<Timestamps>{"camera", Timestamps::camera},
                                                Choice<Timestamps>{"arrival", Timestamps::arrival}};

}  // namespace campipe
